import { listsOf, startFleet, tool } from '../flows/fleet.js';
import { gate } from '../support/gate.js';
import { freePort } from '../support/ports.js';
import { hang, hangAfterHeaders, held, trickle } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { runTurn } from '../support/run-client.js';
import { until } from '../support/until.js';

const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };

describe('at the start', () => {
  test('B89: toolsets that cannot be reached or used take no tool away from the others, and say why', async () => {
    const ok = await startRawToolset({ tools: [tool('a', 'one')] });
    const fleet = await startFleet(
      {
        ok: ok.url,
        down: `http://127.0.0.1:${await freePort()}/mcp`,
        // "Command not found" cannot happen: an index must not start programs (3.13).
        program: { transport: 'stdio', command: 'no-such-command', args: [] },
        nameless: 'http://no-such-host.invalid/mcp',
      },
      { env: { ...NO_POLL, MCP_AGENT_API_READY_SECONDS: '1' }, wait: false },
    );
    await fleet.started;
    expect(await fleet.shown()).toEqual({ a: 'one' });
    expect((await fleet.untilState('down', 'failing')).error?.code).toBe('TOOLSET_UNREACHABLE');
    expect((await fleet.untilState('program', 'failing')).error?.code).toBe('TOOLSET_ENTRY_INVALID');
    expect((await fleet.untilState('nameless', 'failing')).error?.code).toBe('TOOLSET_UNKNOWN_HOST');
    await until(async () => (await fleet.readiness()).status === 200);
    expect(await fleet.readiness()).toMatchObject({ body: { status: 'degraded', failing: ['down', 'nameless', 'program'] } });
    expect((await runTurn(fleet.baseUrl, { text: 'Hello' })).events.at(-1)?.type).toBe('RUN_FINISHED');
  });

  test('B90: toolsets are connected at the same time', async () => {
    const together = gate();
    const toolsets = await Promise.all(Array.from({ length: 6 }, (_, number) => startRawToolset({ tools: [tool(`t${number}`, 'one')] })));
    for (const toolset of toolsets) toolset.once('initialize', held(together));
    const index = Object.fromEntries(toolsets.map(({ url }, number) => [`toolset${number}`, url]));
    const fleet = await startFleet(index, { env: NO_POLL, wait: false });
    // All six have asked before the first one is answered.
    await until(() => together.waiting() === 6, { timeoutMs: 3_000 });
    together.open();
    await fleet.started;
    expect(Object.keys(await fleet.shown())).toHaveLength(6);
  });

  test('B90: one that takes the connection and never answers delays nobody, and is failing in the end', async () => {
    const silent = await startRawToolset();
    silent.on('*', hang);
    const toolsets = await Promise.all(Array.from({ length: 5 }, (_, number) => startRawToolset({ tools: [tool(`t${number}`, 'one')] })));
    const index = Object.fromEntries(toolsets.map(({ url }, number) => [`toolset${number}`, url]));
    const env = { ...NO_POLL, MCP_AGENT_API_LIST_TIMEOUT_SECONDS: '4' };
    const startedAt = performance.now();
    const fleet = await startFleet({ silent: silent.url, ...index }, { env, wait: false });
    await until(() => fleet.app.refresher.current !== undefined, { timeoutMs: 5_000 });
    // The contract lets generation 1 wait 2 s for the others after the first has answered (11.1); the rest is for a slow machine.
    expect(performance.now() - startedAt).toBeLessThan(3_800);
    expect(Object.keys(await fleet.shown())).toHaveLength(5);
    expect((await fleet.untilState('silent', 'failing')).error?.code).toMatch(/^(LIST_TIMEOUT|TOOLSET_UNREACHABLE)$/);
  });

  test('B90, variant: more silent ones than there are places for connections keep nobody waiting', async () => {
    const silent = await Promise.all(Array.from({ length: 30 }, () => startRawToolset()));
    for (const toolset of silent) toolset.on('*', hang);
    const last = await startRawToolset({ tools: [tool('last', 'one')] });
    const index = Object.fromEntries(silent.map(({ url }, number) => [`a${number}`, url]));
    const fleet = await startFleet({ ...index, z: last.url }, { env: NO_POLL, wait: false });
    await until(() => fleet.app.refresher.current !== undefined, { timeoutMs: 6_000, what: 'a generation with the one that answers' });
    expect(await fleet.shown()).toEqual({ last: 'one' });
  });

  test('B93: a toolset that comes up later than the service is found by itself', async () => {
    const port = await freePort();
    const ok = await startRawToolset({ tools: [tool('a', 'one')] });
    const fleet = await startFleet({ ok: ok.url, later: `http://127.0.0.1:${port}/mcp` }, { env: NO_POLL, wait: false });
    await fleet.started;
    await until(async () => (await fleet.toolset('later')).failures >= 3, { what: 'three failed attempts' });
    const later = await startRawToolset({ port, tools: [tool('b', 'one')] });
    await fleet.untilState('later', 'watching');
    await until(async () => 'b' in (await fleet.shown()));
    expect(listsOf(later)).toBe(1);
    expect(listsOf(ok)).toBe(1);
  });
});

describe('a toolset that is down while', () => {
  test('B93: the index gives it new headers, or names it anew, keeps its tools and comes back', async () => {
    const first = await startRawToolset({ tools: [tool('a', 'one')] });
    const ok = await startRawToolset({ tools: [tool('b', 'one')] });
    const fleet = await startFleet({ first: first.url, ok: ok.url }, { env: NO_POLL });
    await first.close();
    const entry = { transport: 'streamable_http', url: first.url, headers: { 'x-version': '2' } };
    fleet.index.set({ first: entry, ok: ok.url });
    await fleet.untilState('first', 'failing');
    expect(await fleet.refresh('first')).toMatchObject({ body: { outcome: 'aborted' } });
    expect(await fleet.shown()).toEqual({ a: 'one', b: 'one' });
    expect(await fleet.toolset('first')).toMatchObject({ state: 'failing', tools: 1 });
    const second = await startRawToolset({ port: first.port, tools: [tool('a', 'two')] });
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'two', b: 'one' });
    expect(second.requests.every(({ headers }) => headers['x-version'] === '2')).toBe(true);
  });

  test('B93, variant: the index moves it to an address where nobody answers, keeps the old tools and can still be called', async () => {
    const old = await startRawToolset({ tools: [tool('a', 'one')] });
    const fleet = await startFleet({ kb: old.url }, { env: NO_POLL });
    const port = await freePort();
    fleet.index.set({ kb: `http://127.0.0.1:${port}/mcp` });
    await fleet.untilState('kb', 'failing');
    expect(await fleet.shown()).toEqual({ a: 'one' });
    // The old address is still watched (3.12).
    old.tools = [tool('a', 'two')];
    old.push();
    await fleet.untilGeneration(2);
    await startRawToolset({ port, tools: [tool('a', 'moved')] });
    await until(async () => (await fleet.shown()).a === 'moved');
    await until(() => old.streams.size === 0);
  });
});

describe('a tool list that hangs while everything else answers', () => {
  /** How many list requests of this toolset were open at once, at most. */
  function watchOpenLists(toolset: RawToolset, answer: typeof hang) {
    let open = 0;
    const most = { lists: 0 };
    const off = toolset.on('tools/list', (exchange) => {
      open += 1;
      most.lists = Math.max(most.lists, open);
      exchange.gone.addEventListener('abort', () => {
        open -= 1;
      });
      return answer(exchange);
    });
    return { most, off };
  }

  test('B92: without headers, without a body or byte by byte fails at its deadline, one at a time, and others are refreshed meanwhile', async () => {
    const ways = [hang, hangAfterHeaders(), trickle(' ', { everyMs: 100 }), hangAfterHeaders({ 'content-type': 'text/event-stream' })];
    const each = (['legacy', 'modern'] as const).flatMap((era) => ways.map((way) => ({ era, way })));
    const toolsets = await Promise.all(each.map(({ era }, number) => startRawToolset({ era, tools: [tool(`t${number}`, 'one')] })));
    const steady = await startRawToolset({ tools: [tool('steady', 'one')] });
    const index = Object.fromEntries(toolsets.map(({ url }, number) => [`toolset${number}`, url]));
    const env = { ...NO_POLL, MCP_AGENT_API_LIST_TIMEOUT_SECONDS: '5' };
    const fleet = await startFleet({ ...index, steady: steady.url }, { env });
    // Eight lists that hang take every place that there is (3.3).
    const watches = toolsets.map((toolset, number) => watchOpenLists(toolset, each[number]?.way ?? hang));
    for (const toolset of toolsets) toolset.push();
    await until(() => watches.every(({ most }) => most.lists === 1));
    for (const toolset of toolsets) toolset.push();
    steady.tools = [tool('steady', 'two')];
    steady.push();
    await until(() => fleet.app.refresher.current?.number === 2, { what: 'the change of the other toolset' });
    // That was after two seconds (2.7), so none of them has failed yet.
    expect((await fleet.status()).toolsets.filter(({ state }) => state === 'failing')).toEqual([]);
    expect((await fleet.shown()).steady).toBe('two');
    for (const number of toolsets.keys()) {
      const { error, tools } = await fleet.untilState(`toolset${number}`, 'failing');
      expect(error?.code).toBe('LIST_TIMEOUT');
      expect(tools).toBe(1);
    }
    await until(() => toolsets.every((toolset) => listsOf(toolset) >= 3), { what: 'a second try of each' });
    expect(watches.map(({ most }) => most.lists)).toEqual(each.map(() => 1));
    for (const [number, toolset] of toolsets.entries()) toolset.tools = [tool(`t${number}`, 'two')];
    for (const { off } of watches) off();
    for (const toolset of toolsets) toolset.resetSockets();
    await until(async () => Object.values(await fleet.shown()).every((text) => text === 'two'), { timeoutMs: 15_000 });
  });
});
