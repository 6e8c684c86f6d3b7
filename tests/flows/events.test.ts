import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EventEmitter } from 'eventemitter3';
import express from 'express';
import type { LiveAgents } from '../../src/core/ports.js';
import { createRouter } from '../../src/http/router.js';
import { startAgentHost } from '../http/agent-host.js';
import { onCleanup } from '../support/cleanup.js';
import { followFeed } from '../support/feed-client.js';
import { ManualClock } from '../support/manual-clock.js';
import { pass, respond } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';
import { ADMIN, startFleet, tool } from './fleet.js';

test('a change is told as a round and as a generation, in this order, and the old generation as released', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'v1')] });
  const fleet = await startFleet({ kb: kb.url });
  const feed = await followFeed(fleet.baseUrl);
  expect(feed.events).toEqual([]);
  kb.setTools([tool('search', 'v2')]);
  const generation = await feed.next('generation');
  const round = await feed.next('round', ({ outcome }) => outcome === 'swapped');
  expect(generation).toMatchObject({ number: 2, previous: 1, trigger: 'notification', swapped: ['kb'], changes: { changed: ['search'] } });
  expect(round.generation).toBe(2);
  expect(feed.events.indexOf(round)).toBeLessThan(feed.events.indexOf(generation));
  expect(await feed.next('released')).toMatchObject({ generation: 1 });
});

test('a toolset that fails is told with its code; its error text is for administrators and its own token', async () => {
  const kb = await startRawToolset({ tools: [tool('search', 'v1')] });
  const env = { MCP_AGENT_API_TOKEN: 'user-token', MCP_AGENT_API_REFRESH_TOKENS: 'web=web-token' };
  const fleet = await startFleet({ kb: kb.url }, { env });
  const [admin, user, other] = await Promise.all(
    ['admin-token', 'user-token', 'web-token'].map((token) => followFeed(fleet.baseUrl, { headers: { authorization: `Bearer ${token}` } })),
  );
  await kb.close();
  await fleet.refresh();
  for (const feed of [admin, user, other]) {
    const state = await feed?.next('toolset', ({ to }) => to === 'failing');
    expect(state).toMatchObject({ toolset: 'kb', code: expect.stringMatching(/^[A-Z_]+$/) });
  }
  const aborted = await Promise.all([admin, user, other].map((feed) => feed?.next('round', ({ error }) => error !== null)));
  expect(aborted[0]?.error?.message).toEqual(expect.any(String));
  for (const round of aborted.slice(1)) expect(Object.keys(round?.error ?? {}).sort()).toEqual(['code', 'toolset']);
});

test('an index that cannot be read, and that can be read again, is told', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'v1')] });
  const fleet = await startFleet({ kb: kb.url });
  const feed = await followFeed(fleet.baseUrl);
  fleet.index.answer(respond({ status: 500 }));
  expect((await feed.next('index')).code).toMatch(/^INDEX_/);
  fleet.index.answer(pass);
  await feed.next('index', ({ code }) => code === null);
});

test('who comes back with the last id gets what was missed, and nothing twice', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'v1')] });
  const fleet = await startFleet({ kb: kb.url });
  const first = await followFeed(fleet.baseUrl);
  kb.setTools([tool('search', 'v2')]);
  const seen = await first.next('generation', ({ number }) => number === 2);
  first.leave();
  kb.setTools([tool('search', 'v3')]);
  await fleet.untilGeneration(3);
  for (const feed of [
    await followFeed(fleet.baseUrl, { headers: { 'last-event-id': seen.id } }),
    await followFeed(fleet.baseUrl, { query: `?lastEventId=${seen.id}` }),
  ]) {
    await feed.next('generation', ({ number }) => number === 3);
    expect(feed.events.some(({ id }) => id === seen.id)).toBe(false);
    expect(new Set(feed.events.map(({ id }) => id)).size).toBe(feed.events.length);
  }
  const all = await followFeed(fleet.baseUrl, { query: '?lastEventId=of-another-process' });
  await all.next('generation', ({ number }) => number === 1);
});

test('streams end when the service drains, so that it can stop', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'v1')] });
  const fleet = await startFleet({ kb: kb.url });
  const feed = await followFeed(fleet.baseUrl, { headers: ADMIN });
  await fleet.app.drain();
  await until(() => feed.ended(), { what: 'the stream to end' });
});

/** A router whose live side is a plain emitter, for what takes thousands of events or a long time. */
async function startEmitter(clock: ManualClock) {
  const host = await startAgentHost();
  const emitter = new EventEmitter();
  const live = {
    lease: () => host.slot.lease(),
    current: host.slot.current,
    status: () => host.refreshing.status,
    readiness: () => ({ ready: true, failing: [] }),
    refresh: host.refreshing.refresh,
    on: (name: string, listener: (event: never) => void) => emitter.on(name, listener as () => void),
  } as unknown as LiveAgents<never>;
  const app = express();
  app.use(createRouter(live, { clock }));
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onCleanup(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return { emitter, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test('the last 256 events are kept for replay', async () => {
  const { emitter, baseUrl } = await startEmitter(new ManualClock());
  for (let missedSignals = 1; missedSignals <= 1_000; missedSignals += 1) emitter.emit('missed', { toolset: 'kb', missedSignals });
  const feed = await followFeed(baseUrl, { query: '?lastEventId=0' });
  await feed.next('missed', ({ missedSignals }) => missedSignals === 1_000);
  expect(feed.events).toHaveLength(256);
  expect(feed.events[0]).toMatchObject({ missedSignals: 745 });
});

test('a comment every 15 seconds keeps the stream open', async () => {
  const clock = new ManualClock();
  const { baseUrl } = await startEmitter(clock);
  const feed = await followFeed(baseUrl);
  await clock.advance(15_000);
  await until(() => feed.comments.length === 1);
  await clock.advance(30_000);
  await until(() => feed.comments.length === 3);
});
