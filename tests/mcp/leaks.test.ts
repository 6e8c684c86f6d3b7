import { getEventListeners } from 'node:events';
import { ManualClock } from '../support/manual-clock.js';
import * as answers from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { stays, until } from '../support/until.js';
import { watchedSession } from './session-fixture.js';

const TOOLS = [{ name: 'a', inputSchema: { type: 'object' } }];

describe.each(['legacy', 'modern'] as const)('a %s toolset', (era) => {
  it('that ends its stream a hundred times leaves sockets, sessions and listeners as they were', async () => {
    const toolset = await startRawToolset({ era, tools: TOOLS });
    const session = watchedSession(toolset.url, { limits: { reopenMinMs: 1, reopenMaxMs: 2 } });
    await session.start();
    for (let round = 0; round < 100; round += 1) {
      const before = session.signals.length;
      toolset.cutStreams(round % 2 === 0 ? 'fin' : 'rst');
      await until(() => session.signals.length > before && toolset.streams.size === 1);
      expect(toolset.sessions.size).toBeLessThanOrEqual(2);
    }
    await until(() => toolset.openSockets() <= 3, { what: 'few sockets' });
    await session.close();
    await until(() => toolset.openSockets() === 0 && toolset.sessions.size === 0, { what: 'no socket and no session' });
  });

  it('that breaks connections in the middle of everything, while we close as well, harms nothing (B103)', async () => {
    const toolset = await startRawToolset({ era, tools: TOOLS });
    for (let round = 0; round < 40; round += 1) {
      const session = watchedSession(toolset.url, { limits: { reopenMinMs: 1, reopenMaxMs: 5 }, heartbeatSeconds: 0.01 });
      if (round % 4 === 1) toolset.once('initialize', answers.destroyMidway());
      if (round % 4 === 2) toolset.once('tools/list', answers.destroyMidway());
      if (round % 4 === 3) toolset.once('tools/call', answers.destroyMidway());
      const work = [session.start(), session.listNow(), session.call({ tool: 'a', args: {}, timeoutMs: 1_000 })];
      const done = Promise.allSettled(work);
      if (round % 2 === 0) await done;
      toolset.resetSockets();
      await session.close();
      await done;
    }
    await until(() => toolset.openSockets() === 0, { what: 'no socket' });
  });

  it('that is called and listed by many at once leaves no listener on their signal', async () => {
    const toolset = await startRawToolset({ era, tools: TOOLS });
    const session = watchedSession(toolset.url);
    await session.start();
    const signal = new AbortController().signal;
    const calls = Array.from({ length: 100 }, () => session.call({ tool: 'a', args: {}, timeoutMs: 10_000, signal }));
    expect(await Promise.all(calls)).toHaveLength(100);
    await Promise.all(Array.from({ length: 50 }, () => session.list(signal)));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    // Node warns on the console when a signal has more listeners than this field says, unless it is 0.
    const limit = Object.getOwnPropertySymbols(signal).find(({ description }) => description === 'events.maxEventTargetListeners');
    expect(Reflect.get(signal, limit ?? 'limit')).toBe(0);
  });
});

describe('the sockets of a session', () => {
  it.each([
    ['legacy', 'json'],
    ['legacy', 'sse'],
    ['modern', 'json'],
  ] as const)('are used again from one request to the next (%s, %s)', async (era, listAs) => {
    const toolset = await startRawToolset({ era, tools: TOOLS, listAs });
    const session = watchedSession(toolset.url);
    await session.start();
    const before = toolset.acceptedSockets();
    for (let count = 0; count < 20; count += 1) {
      await session.listNow();
      await session.call({ tool: 'a', args: {}, timeoutMs: 5_000 });
    }
    // An event stream may end a moment after its reply, and meanwhile the next request takes another socket.
    expect(toolset.acceptedSockets() - before).toBeLessThan(5);
  });
});

describe('a closed session', () => {
  it('leaves no timer', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const clock = new ManualClock();
    const session = watchedSession(toolset.url, { clock, heartbeatSeconds: 60 });
    await session.start();
    expect(clock.pending).toBeGreaterThan(0);
    await session.close();
    await until(() => clock.pending === 0, { what: 'no timer' });
  });

  it('sends nothing any more, also when it was waiting to try again (B102)', async () => {
    const toolset = await startSdkToolset({ era: 'legacy', tools: [{ name: 'a' }] });
    const session = watchedSession(toolset.url, { limits: { reopenMinMs: 50, reopenMaxMs: 100 } });
    await session.start();
    await toolset.kill();
    await until(() => session.status().push === 'polling');
    await session.close();
    await toolset.restart();
    const before = toolset.requests.length;
    await stays(() => toolset.requests.length === before, { durationMs: 400, what: 'silence' });
  });

  it('may be closed twice, and before it was ever used', async () => {
    const session = watchedSession('http://127.0.0.1:9/mcp');
    await Promise.all([session.close(), session.close()]);
    expect(session.pushes).toEqual(['closed']);
  });
});
