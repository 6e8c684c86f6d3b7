import { having, listsOf, startFleet, tool } from '../flows/fleet.js';

import { gate } from '../support/gate.js';
import { type Answer, delayed, held, pass, rpcResult } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { stays, until } from '../support/until.js';
import { fastClock } from './fast-clock.js';

/** Nothing but a signal can find a change within these tests, except where a test sets a poll. */
const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };
const ERAS = ['legacy', 'modern'] as const;

/** The list as this toolset has it right now, whatever becomes of it afterwards. */
const frozenList = (toolset: RawToolset): Answer => {
  const tools = [...toolset.tools];
  return rpcResult({ resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools });
};

test('B14: three notifications in a row, each with one more tool, end with all three', async () => {
  const toolset = await startRawToolset({ tools: [] });
  const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
  for (const name of ['a', 'b', 'c']) {
    const before = listsOf(toolset);
    toolset.tools = [...toolset.tools, tool(name, 'new')];
    toolset.push();
    await until(() => listsOf(toolset) > before);
  }
  await until(async () => Object.keys(await fleet.shown()).length === 3);
  expect(await fleet.shown()).toEqual({ a: 'new', b: 'new', c: 'new' });
});

test('B14, second case: a server with slow lists that notifies after each of them is listed ten times a minute at most', async () => {
  const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
  const factor = 25;
  // 1.1 s of the service's time.
  toolset.on(
    'tools/list',
    delayed(1_100 / factor, async (exchange) => {
      await pass(exchange);
      toolset.push();
    }),
  );
  const env = { MCP_AGENT_API_INDEX_SECONDS: '0', MCP_AGENT_API_LIST_TIMEOUT_SECONDS: '200', MCP_AGENT_API_STARTUP_SECONDS: '6000' };
  const fleet = await startFleet({ toolset: toolset.url }, { env, clock: fastClock(factor) });
  const before = listsOf(toolset);
  await stays(() => listsOf(toolset) <= before + 10, { durationMs: 60_000 / factor, what: 'ten lists a minute' });
  expect(listsOf(toolset)).toBeGreaterThan(before + 3);
  expect(fleet.app.refresher.current?.number).toBe(1);
});

describe('a poll that is faster than the list', () => {
  test('B15: never has two lists in flight at one toolset', async () => {
    const toolset = await startRawToolset({ era: 'stateless', tools: [tool('a', 'one')] });
    let open = 0;
    let most = 0;
    toolset.on('tools/list', async (exchange) => {
      open += 1;
      most = Math.max(most, open);
      exchange.gone.addEventListener('abort', () => {
        open -= 1;
      });
      await delayed(350)(exchange);
    });
    const fleet = await startFleet({ toolset: toolset.url }, { env: { MCP_AGENT_API_POLLING_SECONDS: '0.1' } });
    const before = listsOf(toolset);
    void fleet.refresh();
    void fleet.refresh('toolset');
    await until(() => listsOf(toolset) >= before + 4);
    expect(most).toBe(1);
  });

  test('B15, second case: an old answer that comes after its list timed out changes nothing', async () => {
    const toolset = await startRawToolset({ era: 'stateless', tools: [tool('a', 'old')] });
    const env = { ...NO_POLL, MCP_AGENT_API_LIST_TIMEOUT_SECONDS: '0.3' };
    const fleet = await startFleet({ toolset: toolset.url }, { env });
    const late = gate();
    const old = frozenList(toolset);
    toolset.once('tools/list', held(late, old));
    void fleet.refresh();
    await until(() => late.waiting() === 1);
    toolset.tools = [tool('a', 'new')];
    await fleet.untilGeneration(2);
    late.open();
    expect(await fleet.shown()).toEqual({ a: 'new' });
    await stays(() => fleet.app.refresher.current?.number === 2, { durationMs: 300 });
    expect(having(fleet.rounds(), 'aborted')).toHaveLength(1);
  });
});

describe('a session that is lost while its list is in flight', () => {
  test('B16: is made anew, and the new list becomes one swap; the held answer of the dead session is ignored', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const late = gate();
    toolset.once('tools/list', held(late, rpcResult({ tools: [tool('stale', 'of the dead session')] })));
    toolset.push();
    await until(() => late.waiting() === 1);
    toolset.forgetSessions();
    toolset.tools = [tool('a', 'one'), tool('b', 'two')];
    toolset.cutStreams('rst');
    await until(() => toolset.counts().initialize === 2);
    late.open();
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'one', b: 'two' });
    await stays(() => fleet.app.refresher.current?.number === 2, { durationMs: 500 });
    expect(having(fleet.rounds(), 'aborted')).toEqual([]);
  });

  test.each(ERAS)('B16, variant: does not wait for an answer that never comes on the connection that was replaced (%s)', async (era) => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const never = gate();
    toolset.once('tools/list', held(never));
    toolset.push();
    await until(() => never.waiting() === 1);
    toolset.forgetSessions();
    toolset.tools = [tool('a', 'two')];
    toolset.cutStreams('rst');
    // Far less than the ten seconds after which a list counts as failed.
    await until(() => (fleet.app.refresher.current?.number ?? 0) === 2, { timeoutMs: 3_000, what: 'the list of the new connection' });
    expect(having(fleet.rounds(), 'aborted')).toEqual([]);
  });

  test('B16, variant: and again while the list on the new session is in flight', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    toolset.push();
    for (const round of [2, 3]) {
      const barrier = gate();
      toolset.once('tools/list', held(barrier, rpcResult({ tools: [tool('stale', 'of a dead session')] })));
      await until(() => barrier.waiting() === 1);
      toolset.forgetSessions();
      toolset.cutStreams('rst');
      await until(() => toolset.counts().initialize === round);
      toolset.tools = [tool('a', `round ${round}`)];
      barrier.open();
    }
    await until(async () => (await fleet.shown()).a === 'round 3');
    await stays(async () => !('stale' in (await fleet.shown())), { durationMs: 200 });
  });
});
