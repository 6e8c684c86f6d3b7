import { DEFAULT_LIMITS } from '../../src/mcp/session-limits.js';
import { ManualClock } from '../support/manual-clock.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { stays, until } from '../support/until.js';
import { watchedSession } from './session-fixture.js';

const MINUTE = 60_000;

test.each([
  { push: 'watching', era: 'legacy', dueMs: 60 * MINUTE },
  { push: 'polling', era: 'stateless', dueMs: 10 * MINUTE },
] as const)('a session of a $push toolset is made anew after its time, give or take a tenth (4.6)', async ({ push, era, dueMs }) => {
  const clock = new ManualClock();
  const toolset = await startRawToolset({ era, tools: [{ name: 'a', inputSchema: { type: 'object' } }] });
  const session = watchedSession(toolset.url, { clock });
  await session.start();
  expect(session.status().push).toBe(push);
  await clock.advance(dueMs * 0.89);
  await stays(() => toolset.counts().initialize === 1, { durationMs: 100, what: 'one handshake' });
  await clock.advance(dueMs * 0.22);
  await until(() => toolset.counts().initialize === 2, { what: 'the renewal' });
});

test('a stream that ends at once is opened again after 0.1 s, growing to 30 s; after half a minute open it begins at 0.1 s again (4.4)', async () => {
  const clock = new ManualClock();
  const toolset = await startRawToolset({ tools: [{ name: 'a', inputSchema: { type: 'object' } }] });
  // The waits of the contract instead of the short ones of other tests.
  const { reopenMinMs, reopenMaxMs, stableMs } = DEFAULT_LIMITS;
  const session = watchedSession(toolset.url, { clock, limits: { reopenMinMs, reopenMaxMs, stableMs } });
  await session.start();
  /** Ends the stream and returns how long it is before it is opened again. */
  const waitAfterEnd = async () => {
    const opened = session.signals.length;
    toolset.cutStreams('fin');
    const waitMs = await until(() => toolset.streams.size === 0 && (clock.nextInMs ?? Infinity) <= 30_000 && clock.nextInMs);
    await clock.advance(Number(waitMs));
    await until(() => session.signals.length > opened && toolset.streams.size === 1, { what: 'the stream to be open again' });
    return Number(waitMs);
  };
  const waits: number[] = [];
  for (let end = 0; end < 12; end++) waits.push(await waitAfterEnd());
  for (const [end, waitMs] of waits.entries()) {
    const longest = Math.min(100 * 2 ** end, 30_000);
    expect([end, waitMs <= longest, end === 0 || waitMs >= longest / 2]).toEqual([end, true, true]);
  }
  await clock.advance(29_000);
  expect(await waitAfterEnd()).toBeGreaterThanOrEqual(15_000);
  await clock.advance(30_000);
  expect(await waitAfterEnd()).toBeLessThanOrEqual(100);
});
