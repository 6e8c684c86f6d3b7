import { having, listsOf, startFleet, tool } from '../flows/fleet.js';
import { delayed, pass, respond, sse } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { stays, until } from '../support/until.js';
import { fastClock } from './fast-clock.js';
import { toolTurn } from './tool-turn.js';

/** Nothing but a signal can find a change within these tests, except where a test sets a poll. */
const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };
const FACTOR = 40;
const MINUTE_MS = 60_000 / FACTOR;
/** For services whose clock runs fast: the index is read once, and limits that only bound failures stay long enough for a slow machine. */
const FAST = {
  MCP_AGENT_API_REFRESH_SECONDS: '0',
  MCP_AGENT_API_INDEX_SECONDS: '0',
  MCP_AGENT_API_LIST_TIMEOUT_SECONDS: '200',
  MCP_AGENT_API_STARTUP_SECONDS: '6000',
};

const ERAS = ['legacy', 'modern'] as const;
const streamOf = { legacy: 'GET', modern: 'subscriptions/listen' } as const;
const opens = (toolset: RawToolset) => (toolset.counts().GET ?? 0) + (toolset.counts()['subscriptions/listen'] ?? 0);

describe.each(ERAS)('the stream of a %s toolset', (era) => {
  test('B27: that was cut and is refused six times is opened in the end, and until then the toolset is polled', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    // The waits between the attempts grow to several seconds.
    const env = { ...FAST, MCP_AGENT_API_REFRESH_SECONDS: '1800', MCP_AGENT_API_POLLING_SECONDS: '2' };
    const fleet = await startFleet({ toolset: toolset.url }, { env, clock: fastClock(FACTOR) });
    toolset.on(streamOf[era], respond({ status: 503 }), { times: 6 });
    toolset.cutStreams('rst');
    // What the case calls `stream: down` is the state `polling` (4.3).
    await fleet.untilState('toolset', 'polling');
    toolset.tools = [tool('a', 'found by polling')];
    await fleet.untilGeneration(2);
    await fleet.untilState('toolset', 'watching');
    expect(opens(toolset)).toBeGreaterThanOrEqual(8);

    toolset.tools = [tool('a', 'announced')];
    toolset.push();
    await fleet.untilGeneration(3);
    expect(await fleet.shown()).toEqual({ a: 'announced' });
    expect(having(fleet.rounds(), 'aborted')).toEqual([]);
  });

  test('B28: that is closed at once, over and over, is opened fifteen times a minute at most, and so often listed', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    toolset.on(streamOf[era], async (exchange) => {
      await pass(exchange);
      setTimeout(() => toolset.cutStreams('fin'), 50 / FACTOR);
    });
    const fleet = await startFleet({ toolset: toolset.url }, { env: FAST, clock: fastClock(FACTOR), wait: false });
    await fleet.untilGeneration(1);
    const before = { opens: opens(toolset), lists: listsOf(toolset), sockets: toolset.openSockets() };
    await stays(() => opens(toolset) - before.opens <= 15 && listsOf(toolset) - before.lists <= 16, {
      durationMs: MINUTE_MS,
      what: 'at most fifteen streams a minute, and a list for each',
    });
    expect(opens(toolset)).toBeGreaterThan(before.opens + 2);
    expect(toolset.openSockets()).toBeLessThanOrEqual(before.sockets + 2);
    expect(fleet.app.refresher.current?.number).toBe(1);
  });

  test.each(['fin', 'rst', 'graceful'] as const)(
    'B30: without event ids, ended (%s), is opened again and what changed meanwhile is found by a list',
    async (how) => {
      const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
      const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
      const before = listsOf(toolset);
      toolset.tools = [tool('a', 'two')];
      toolset.cutStreams(how);
      await fleet.untilGeneration(2);
      expect(await fleet.shown()).toEqual({ a: 'two' });
      expect(fleet.rounds().at(-1)?.trigger).toBe('reconnect');
      await stays(() => listsOf(toolset) === before + 1, { durationMs: 300 });
      expect(toolset.streams.size).toBe(1);
    },
  );

  test('B30, variant: that ends again while the list after its re-opening is in flight is opened and listed once more', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    toolset.once('tools/list', async (exchange) => {
      const send = await exchange.prepare();
      toolset.tools = [tool('a', 'two')];
      toolset.cutStreams('rst');
      await send();
    });
    toolset.cutStreams('rst');
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'two' });
  });

  test('B31: that fails for ever leaves the session and its calls alone', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    toolset.on(streamOf[era], respond({ status: 500 }));
    const fleet = await startFleet({ toolset: toolset.url }, { env: FAST, clock: fastClock(FACTOR) });
    await stays(() => opens(toolset) <= 15, { durationMs: MINUTE_MS, what: 'at most fifteen attempts a minute' });
    expect((await toolTurn(fleet, 'a')).result).toContain('{}');
    expect((toolset.counts().initialize ?? 0) + (toolset.counts()['server/discover'] ?? 0)).toBe(era === 'legacy' ? 2 : 1);
    expect(await fleet.toolset('toolset')).toMatchObject({ state: 'polling', error: null });
  });
});

test('B31, second case: a stream that is refused with 405 after it was open means no stream, and no new session at once', async () => {
  const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
  const fleet = await startFleet({ toolset: toolset.url }, { env: { MCP_AGENT_API_POLLING_SECONDS: '0.2' } });
  toolset.getStatus = 405;
  toolset.cutStreams('rst');
  await fleet.untilState('toolset', 'polling');
  toolset.tools = [tool('a', 'two')];
  await fleet.untilGeneration(2);
  await stays(() => toolset.counts().initialize === 1 && toolset.counts().GET === 2, { durationMs: 500 });
  expect(having(fleet.rounds(), 'aborted')).toEqual([]);
});

test('B31, variant: a stream that cannot be opened does not delay a call, and a call that fails does not end the stream', async () => {
  const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
  const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
  toolset.calls.set('a', () => respond({ status: 500 }));
  const { events } = await toolTurn(fleet, 'a');
  expect(events.at(-1)?.type).toBe('RUN_FINISHED');
  expect(toolset.counts()).toMatchObject({ GET: 1, initialize: 1 });
  expect((await fleet.toolset('toolset')).state).toBe('watching');
});

test('B27, variant: a stream whose second opening takes long is down meanwhile, and what changed by then is found when it opens', async () => {
  const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
  const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
  toolset.once('GET', delayed(1_500));
  toolset.tools = [tool('a', 'two')];
  toolset.cutStreams('fin');
  await fleet.untilState('toolset', 'polling');
  await fleet.untilState('toolset', 'watching');
  await until(async () => (await fleet.shown()).a === 'two');
});

test('B28, variant: a stream that the server ends after each notification loses none of them', async () => {
  const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
  const note = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
  const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
  toolset.once('GET', sse([note]), sse([note]), sse([note]));
  toolset.tools = [tool('a', 'two')];
  toolset.cutStreams('fin');
  await fleet.untilGeneration(2);
  await fleet.untilState('toolset', 'watching');
  toolset.tools = [tool('a', 'three')];
  toolset.push();
  await fleet.untilGeneration(3);
});
