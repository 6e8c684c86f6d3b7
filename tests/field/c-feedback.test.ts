import { having, listsOf, startFleet, tool } from '../flows/fleet.js';
import { type Answer, pass } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { stays, until } from '../support/until.js';
import { fastClock } from './fast-clock.js';

const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0' };
const FACTOR = 40;
/** One minute of a service whose clock runs that fast. */
const MINUTE_MS = 60_000 / FACTOR;
/** The index is read once; limits that only bound failures stay long enough for a slow machine. */
const FAST = {
  ...NO_POLL,
  MCP_AGENT_API_INDEX_SECONDS: '0',
  MCP_AGENT_API_LIST_TIMEOUT_SECONDS: '200',
  MCP_AGENT_API_STARTUP_SECONDS: '6000',
};

/** Notifies after each list, as a server does that rebuilds its list when it is asked for it. */
const pushAfter =
  (notified: RawToolset): Answer =>
  async (exchange) => {
    await pass(exchange);
    notified.push();
  };

describe.each(['legacy', 'modern'] as const)('a %s toolset that notifies because it was listed', (era) => {
  test('B17: is listed ten times a minute at most, swaps nothing, and its real change is found', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    toolset.on('tools/list', pushAfter(toolset));
    const fleet = await startFleet({ toolset: toolset.url }, { env: FAST, clock: fastClock(FACTOR) });
    const agent = fleet.app.refresher.current?.agent;
    const before = listsOf(toolset);
    await stays(() => listsOf(toolset) <= before + 10, { durationMs: MINUTE_MS, what: 'ten lists a minute' });
    expect(listsOf(toolset)).toBeGreaterThan(before + 2);
    expect(fleet.app.refresher.current?.agent).toBe(agent);
    expect(having(fleet.rounds(), 'aborted')).toEqual([]);

    const atChange = listsOf(toolset);
    toolset.tools = [tool('a', 'two')];
    toolset.push();
    // Its notifications wait ten seconds at the longest (3.9); then one list finds it.
    await fleet.untilGeneration(2);
    expect(listsOf(toolset)).toBeLessThanOrEqual(atChange + 2);
  });
});

test('B17, variant: two toolsets of which each notifies when the other is listed do not keep each other busy', async () => {
  const one = await startRawToolset({ tools: [tool('a', 'one')] });
  const two = await startRawToolset({ tools: [tool('b', 'one')] });
  one.on('tools/list', pushAfter(two));
  two.on('tools/list', pushAfter(one));
  const fleet = await startFleet({ one: one.url, two: two.url }, { env: FAST, clock: fastClock(FACTOR) });
  const lists = () => Math.max(listsOf(one), listsOf(two));
  const before = lists();
  await stays(() => lists() <= before + 10, { durationMs: MINUTE_MS, what: 'ten lists a minute' });
  expect(lists()).toBeGreaterThan(before + 2);
  expect(fleet.app.refresher.current?.number).toBe(1);
});

test('B17, variant: a list that differs each time, announced each time, is bounded in swaps and in lists, and slows nobody else', async () => {
  const restless = await startRawToolset({ tools: [tool('a', '0')] });
  const calm = await startRawToolset({ tools: [tool('b', 'one')] });
  restless.on('tools/list', async (exchange) => {
    restless.tools = [tool('a', String(listsOf(restless)))];
    await pass(exchange);
    restless.push();
  });
  const clock = fastClock(FACTOR);
  const fleet = await startFleet({ restless: restless.url, calm: calm.url }, { env: FAST, clock });
  const swaps = () => having(fleet.rounds(), 'swapped').length;
  await until(async () => (await fleet.toolset('restless')).held?.reason === 'flapping', { what: 'a list to wait for a swap token' });
  expect((await fleet.toolset('restless')).flapping).toBe(true);
  calm.tools = [tool('b', 'two')];
  calm.push();
  await until(async () => (await fleet.shown()).b === 'two');

  const before = { at: clock.now(), swaps: swaps(), lists: listsOf(restless) };
  const seconds = () => (clock.now() - before.at) / 1_000;
  // Six swaps a minute (3.10); while a list waits for its turn, notifications wait two seconds. A busy machine may have let a few tokens gather.
  await stays(() => swaps() - before.swaps <= 4 + seconds() / 10 && listsOf(restless) - before.lists <= 10 + seconds() * 0.7, {
    durationMs: MINUTE_MS,
    what: 'a bounded number of swaps and of lists',
  });
  expect(swaps()).toBeGreaterThan(before.swaps + 2);
});

test('B17, variant: a toolset that notifies as soon as its stream is open is listed once or twice more, not for ever', async () => {
  const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
  toolset.on('GET', async (exchange) => {
    await pass(exchange);
    toolset.push();
  });
  const fleet = await startFleet({ toolset: toolset.url }, { env: FAST, clock: fastClock(FACTOR) });
  await stays(() => listsOf(toolset) <= 4, { durationMs: MINUTE_MS / 2, what: 'the first list and a few more' });
  expect(fleet.app.refresher.current?.number).toBe(1);
});
