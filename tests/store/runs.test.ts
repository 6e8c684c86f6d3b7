import { LocalRunLocks } from '../../src/agent/run-lock.js';
import type { RunLocks } from '../../src/core/run-lock.js';
import { systemClock } from '../../src/system-clock.js';
import { tool } from '../flows/fleet.js';
import { startAgentHost } from '../http/agent-host.js';
import { beginTurn, runTurn } from '../support/run-client.js';
import { until } from '../support/until.js';
import { openTestStore, sqliteLocation } from './open.js';

test('a full disk ends the run with store_full, and what the thread held stays readable', async () => {
  const store = await openTestStore(await sqliteLocation(), { maxPages: 120 });
  const host = await startAgentHost({
    saver: store.saver,
    toolsets: [{ name: 'kb', tools: [tool('search', 'one')] }],
    router: { locks: store.locks, checkStore: () => store.check() },
  });
  host.model.reply(() => ({ text: 'ok' }));
  const turn = (text: string) => runTurn(host.url, { threadId: 't', text });
  expect((await turn('fits')).events.at(-1)?.type).toBe('RUN_FINISHED');
  const large = 'x'.repeat(200_000);
  let last = await turn(large);
  for (let tries = 0; last.events.at(-1)?.type === 'RUN_FINISHED' && tries < 5; tries++) last = await turn(large);
  expect(last.events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'store_full' });
  expect(last.events.filter(({ type }) => type === 'RUN_ERROR')).toHaveLength(1);
  const thread = await fetch(`${host.url}/threads/t`);
  const { messages } = (await thread.json()) as { messages: { content: string }[] };
  expect([thread.status, messages[0]?.content, messages[1]?.content]).toEqual([200, 'fits', 'ok']);
});

test('a store that is closed answers 503 before the stream begins, for runs and for reading threads', async () => {
  const store = await openTestStore(await sqliteLocation());
  const host = await startAgentHost({ saver: store.saver, router: { locks: store.locks, checkStore: () => store.check() } });
  expect((await runTurn(host.url, { threadId: 't', text: 'hello' })).status).toBe(200);
  await store.close();
  const refused = await runTurn(host.url, { threadId: 't', text: 'again' });
  expect([refused.status, refused.problem]).toMatchObject([503, { code: 'store_unavailable' }]);
  for (const path of ['/threads/t', '/threads/t/turns']) {
    const response = await fetch(host.url + path);
    expect([path, response.status, await response.json()]).toMatchObject([path, 503, { code: 'store_unavailable' }]);
  }
  expect((await fetch(`${host.url}/health/readiness`)).status).toBe(200);
});

test('a run whose thread another process took ends with lock_lost, and its thread is free for the next run', async () => {
  const local = new LocalRunLocks(systemClock);
  const lost = new AbortController();
  const locks: RunLocks = {
    take: async (threadId) => {
      const lock = await local.take(threadId);
      return lock && { ...lock, lost: lost.signal };
    },
    isHeld: (threadId) => local.isHeld(threadId),
  };
  const host = await startAgentHost({ router: { locks } });
  host.model.reply(() => ({ hang: true }));
  const turn = await beginTurn(host.url, { threadId: 't', text: 'hello' });
  await until(() => host.model.requests.length === 1);
  lost.abort();
  const { events } = await turn.done;
  expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'lock_lost' });
  await until(async () => !(await local.isHeld('t')));
});
