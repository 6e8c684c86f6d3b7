import { having, listsOf, startFleet, tool } from '../flows/fleet.js';
import { type Answer, destroy, pass, respond } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { runTurn } from '../support/run-client.js';
import { stays, until } from '../support/until.js';

const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };

const SIGN_IN = '<!DOCTYPE html><html><form><input name=csrf value=SECRET></form></html>';
const html = (status: number): Answer => respond({ status, headers: { 'content-type': 'text/html; charset=utf-8' }, body: SIGN_IN });

describe('a proxy that answers in place of the toolset', () => {
  const answers: readonly (readonly [string, Answer, string])[] = [
    ['200 with a sign-in page', html(200), 'TOOLSET_NOT_MCP'],
    ['200 with broken JSON', respond({ headers: { 'content-type': 'application/json' }, body: '{"csrf":"SECRET' }), 'TOOLSET_NOT_MCP'],
    ['302 to a sign-in page', respond({ status: 302, headers: { location: '/login?state=SECRET' }, body: 'SECRET' }), 'TOOLSET_REFUSED'],
    ['303 to another origin (variant)', respond({ status: 303, headers: { location: 'http://127.0.0.1:9/SECRET' } }), 'TOOLSET_REFUSED'],
    ['401 with a page (variant)', html(401), 'TOOLSET_UNAUTHORIZED'],
    ['500 with a page (variant)', html(500), 'TOOLSET_SERVER_ERROR'],
    [
      '200 with a page that calls itself JSON (variant)',
      respond({ headers: { 'content-type': 'application/json' }, body: SIGN_IN }),
      'TOOLSET_NOT_MCP',
    ],
    [
      '200 with a page in an event stream (variant)',
      respond({ headers: { 'content-type': 'text/event-stream' }, body: `data: ${SIGN_IN}\n\n` }),
      'TOOLSET_NOT_MCP',
    ],
  ];

  test('B64: changes no tool, and nothing that it said is shown to the model, the user, the operator or the log', async () => {
    const toolsets = await Promise.all(answers.map((_answer, number) => startRawToolset({ tools: [tool(`t${number}`, 'one')] })));
    const index = Object.fromEntries(toolsets.map(({ url }, number) => [`toolset${number}`, url]));
    const fleet = await startFleet(index, { env: NO_POLL });
    const shown = await fleet.shown();
    const off = toolsets.map((toolset, number) => toolset.on('tools/call', answers[number]?.[1] ?? pass));
    fleet.model.reply(({ body }) =>
      body.messages.at(-1)?.role === 'tool'
        ? { text: 'done' }
        : { toolCalls: toolsets.map((_toolset, number) => ({ name: `t${number}`, args: {} })) },
    );
    const { events } = await runTurn(fleet.baseUrl, { text: 'Go' });
    const results = events.filter(({ type }) => type === 'TOOL_CALL_RESULT').map(({ content }) => String(content));
    expect(results).toHaveLength(answers.length);
    for (const result of results) expect(result).toMatch(/^Error: /);
    expect(events.at(-1)?.type).toBe('RUN_FINISHED');
    for (const mend of off) mend();

    for (const [number, toolset] of toolsets.entries()) toolset.on('tools/list', answers[number]?.[1] ?? pass);
    const refreshed = await fleet.refresh();
    expect(refreshed).toMatchObject({ body: { outcome: 'aborted' } });
    for (const [number, [, , code]] of answers.entries()) {
      const { error, tools } = await fleet.untilState(`toolset${number}`, 'failing');
      expect({ code: error?.code, tools }).toEqual({ code, tools: 1 });
    }
    expect(await fleet.shown()).toEqual(shown);
    for (const seen of [events, refreshed, await fleet.status(), fleet.log, fleet.model.requests.map(({ text }) => text)]) {
      expect(JSON.stringify(seen)).not.toMatch(/SECRET|DOCTYPE/);
    }
  });
});

/** Fails this many lists, and then answers normally. */
function failLists(toolset: RawToolset, times: number, answer: Answer = respond({ status: 500 })): void {
  toolset.on('tools/list', answer, { times });
}

describe('a list that fails for a while', () => {
  test('B66: after a notification keeps the tools, is tried again before any poll, and then is one swap', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one'), tool('b', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    failLists(toolset, 2);
    toolset.tools = [tool('a', 'one'), tool('b', 'one'), tool('c', 'one')];
    toolset.push();
    await fleet.untilGeneration(2);
    expect(Object.keys(await fleet.shown())).toEqual(['a', 'b', 'c']);
    await stays(() => fleet.app.refresher.current?.number === 2, { durationMs: 300 });
  });

  const ways: readonly (readonly [string, (toolset: RawToolset) => unknown])[] = [
    ['a notification', (toolset) => toolset.push()],
    ['a lost stream', (toolset) => toolset.cutStreams('rst')],
    [
      'a lost session',
      (toolset) => {
        toolset.forgetSessions();
        toolset.cutStreams('rst');
      },
    ],
  ];
  test.each(ways)('B66: longer than its tries last, after %s, leaves the tools and is one swap in the end', async (_what, happen) => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    failLists(toolset, 5);
    toolset.tools = [tool('a', 'one'), tool('c', 'one')];
    happen(toolset);
    await fleet.untilState('toolset', 'failing');
    expect(await fleet.shown()).toEqual({ a: 'one' });
    await fleet.untilGeneration(2);
    expect(Object.keys(await fleet.shown())).toEqual(['a', 'c']);
    expect(having(fleet.rounds(), 'swapped').at(-1)?.changes).toMatchObject({ added: ['c'], removed: [] });
  });

  test('B66: after a poll keeps the tools, and comes back on its own back-off', async () => {
    const toolset = await startRawToolset({ era: 'stateless', tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url });
    failLists(toolset, 5);
    toolset.tools = [tool('a', 'two')];
    await fleet.untilState('toolset', 'failing');
    expect(await fleet.shown()).toEqual({ a: 'one' });
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'two' });
  });

  test('B66, variant: with every kind of failure in turn, never shows less than it did', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    toolset.once('tools/list', respond({ status: 503 }), destroy, respond({ body: {} }), respond({ status: 500 }), destroy, html(502));
    toolset.tools = [tool('a', 'two')];
    toolset.push();
    await until(
      async () => {
        const shown = await fleet.shown();
        expect(Object.keys(shown)).toEqual(['a']);
        return shown.a === 'two';
      },
      { timeoutMs: 15_000 },
    );
  });
});

describe.each(['legacy', 'modern'] as const)('a toolset that connects and whose first lists fail (%s)', (era) => {
  test('B67: is failing, not connected with nothing, and its tools appear without anybody asking', async () => {
    const steady = await startRawToolset({ tools: [tool('steady', 'one')] });
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    let mended = false;
    toolset.on('tools/list', (exchange) => (mended ? pass : respond({ status: 500 }))(exchange));
    const env = { ...NO_POLL, MCP_AGENT_API_READY_SECONDS: '1' };
    const fleet = await startFleet({ steady: steady.url, toolset: toolset.url }, { env, wait: false });
    await fleet.started;
    expect(await fleet.untilState('toolset', 'failing')).toMatchObject({ tools: 0, error: { code: 'TOOLSET_SERVER_ERROR' } });
    await until(async () => (await fleet.toolset('toolset')).failures >= 2, { what: 'a second try' });
    await until(async () => (await fleet.readiness()).status === 200);
    expect(await fleet.readiness()).toMatchObject({ body: { status: 'degraded', failing: ['toolset'] } });
    expect(await fleet.shown()).toEqual({ steady: 'one' });
    mended = true;
    await until(async () => 'a' in (await fleet.shown()), { timeoutMs: 5_000 });
    expect(await fleet.untilState('toolset', 'watching')).toMatchObject({ tools: 1, error: null, failures: 0 });
    expect(listsOf(steady)).toBe(1);
  });
});

test('B67, variant: whose list needs three tries at the very start is there from the first generation on', async () => {
  const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
  failLists(toolset, 2);
  const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
  expect(fleet.app.refresher.current?.number).toBe(1);
  expect(await fleet.shown()).toEqual({ a: 'one' });
});

test('B67, variant: whose handshake works only every other time is shown in the end, and no attempt leaves a stream behind', async () => {
  const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
  toolset.once('initialize', respond({ status: 500 }), pass, destroy);
  toolset.once('tools/list', destroy, respond({ status: 404 }), respond({ status: 500 }));
  const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
  expect(await fleet.shown()).toEqual({ a: 'one' });
  await until(() => toolset.streams.size === 1);
});
