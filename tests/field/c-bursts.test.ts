import { having, listsOf, startFleet, tool } from '../flows/fleet.js';
import { gate } from '../support/gate.js';
import { ManualClock } from '../support/manual-clock.js';
import { delayed, held } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { stays, until } from '../support/until.js';

const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0' };
/** The index is read once; limits that only bound failures stay long enough for a slow machine. */
const FAST = {
  ...NO_POLL,
  MCP_AGENT_API_INDEX_SECONDS: '0',
  MCP_AGENT_API_LIST_TIMEOUT_SECONDS: '200',
  MCP_AGENT_API_STARTUP_SECONDS: '6000',
};

describe('a burst of notifications', () => {
  test('B18: 200 of them while lists take long cost two lists at most and one swap, and a later one starts a fresh list', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    toolset.on('tools/list', delayed(300));
    const before = listsOf(toolset);
    toolset.tools = [tool('a', 'two')];
    for (let times = 0; times < 200; times++) toolset.push();
    await fleet.untilGeneration(2);
    expect(listsOf(toolset)).toBeLessThanOrEqual(before + 2);
    expect(await fleet.shown()).toEqual({ a: 'two' });
    toolset.tools = [tool('a', 'three')];
    toolset.push();
    await fleet.untilGeneration(3);
    expect(await fleet.shown()).toEqual({ a: 'three' });
  });

  test('B18, variant: 199 of them while one list is in flight cost exactly one more, and the second look of a list without change', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const before = listsOf(toolset);
    const barrier = gate();
    toolset.once('tools/list', held(barrier));
    toolset.tools = [tool('a', 'two')];
    toolset.push();
    await until(() => barrier.waiting() === 1);
    for (let times = 0; times < 199; times++) toolset.push();
    // What comes after them on the same stream has been read once they all have.
    for (const stream of toolset.streams) stream.write('data: {"jsonrpc":"2.0","id":"after","method":"ping"}\n\n');
    await until(() => toolset.requests.some(({ body }) => JSON.stringify(body)?.includes('"id":"after"')));
    barrier.open();
    await until(() => having(fleet.rounds(), 'unchanged').length === 2);
    await stays(() => listsOf(toolset) === before + 3, { durationMs: 300 });
    expect(having(fleet.rounds(), 'swapped')).toHaveLength(2);
  });

  test('B18, variant: over thirty toolsets at once is one round and one swap', async () => {
    const toolsets = await Promise.all(Array.from({ length: 30 }, (_, index) => startRawToolset({ tools: [tool(`t${index}`, 'one')] })));
    const entries = Object.fromEntries(toolsets.map(({ url }, index) => [`toolset${index}`, url]));
    const fleet = await startFleet(entries, { env: { ...NO_POLL, MCP_AGENT_API_DEBOUNCE_MS: '400' } });
    for (const [index, toolset] of toolsets.entries()) toolset.tools = [tool(`t${index}`, 'two')];
    for (let times = 0; times < 5; times++) for (const toolset of toolsets) toolset.push();
    await fleet.untilGeneration(2);
    expect(new Set(Object.values(await fleet.shown()))).toEqual(new Set(['two']));
    expect(having(fleet.rounds(), 'swapped')).toHaveLength(2);
    expect(toolsets.map(listsOf)).toEqual(toolsets.map(() => 2));
  });
});

describe('a steady stream of notifications', () => {
  /** A notification whose arrival is known: the service has noted it at the clock's present time. */
  const pushAndWait = async (fleet: Awaited<ReturnType<typeof startFleet>>, name: string, toolset: RawToolset, clock: ManualClock) => {
    toolset.push();
    const now = clock.date().toISOString();
    await until(async () => (await fleet.toolset(name)).notifiedAt === now, { what: 'the notification to arrive' });
  };

  test('B20: does not put the round off beyond ten times the debounce, and opens no more than one in that time', async () => {
    const clock = new ManualClock();
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: FAST, clock });
    toolset.tools = [tool('a', 'two')];
    // D is 100 ms: one notification every 50 ms, for a second.
    for (let at = 0; at < 1_000; at += 50) {
      expect(listsOf(toolset)).toBe(1);
      await pushAndWait(fleet, 'toolset', toolset, clock);
      await clock.advance(50);
    }
    await fleet.untilGeneration(2);
    expect(listsOf(toolset)).toBe(2);
    for (let at = 1_000; at < 2_000; at += 50) {
      await pushAndWait(fleet, 'toolset', toolset, clock);
      expect(listsOf(toolset)).toBe(2);
      await clock.advance(50);
    }
    await until(() => listsOf(toolset) === 3);
  });

  test('B20, variant: of one toolset does not keep the change of another waiting, whose own notification was the first', async () => {
    const clock = new ManualClock();
    const noisy = await startRawToolset({ tools: [tool('a', 'one')] });
    const once = await startRawToolset({ tools: [tool('b', 'one')] });
    const fleet = await startFleet({ noisy: noisy.url, once: once.url }, { env: FAST, clock });
    once.tools = [tool('b', 'two')];
    await pushAndWait(fleet, 'once', once, clock);
    for (let at = 0; at < 1_000; at += 50) {
      await pushAndWait(fleet, 'noisy', noisy, clock);
      await clock.advance(50);
    }
    await fleet.untilGeneration(2);
    expect(fleet.rounds().at(-1)?.toolsets).toMatchObject({ listed: ['noisy', 'once'], swapped: ['once'] });
  });
});
