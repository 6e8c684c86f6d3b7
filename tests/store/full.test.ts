import { tool } from '../flows/fleet.js';
import { startAgentHost } from '../http/agent-host.js';
import { runTurn } from '../support/run-client.js';
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
