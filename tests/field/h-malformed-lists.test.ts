import { type Fleet, listsOf, startFleet, tool } from '../flows/fleet.js';
import { type Answer, respond, rpcResult, sse } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { runTurn } from '../support/run-client.js';
import { stays, until } from '../support/until.js';

const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };
const ERAS = ['legacy', 'modern'] as const;

const result = (fields: object): Answer => rpcResult({ resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...fields });
const a = tool('a', 'one');

/** What `GET /connections` says about tools that are not shown. */
async function withheld(fleet: Fleet): Promise<readonly { toolset: string; tool: string; reason: string }[]> {
  const answer = (await (await fetch(new URL('/connections', fleet.baseUrl))).json()) as {
    withheld: { toolset: string; tool: string; reason: string }[];
  };
  return answer.withheld;
}

/** Starts one toolset per answer, each with one tool, in one service; and a steady one. */
async function toolsetsOf(answers: readonly (readonly [string, Answer])[], era: (typeof ERAS)[number], env: Record<string, string> = {}) {
  const toolsets: RawToolset[] = [];
  for (const number of answers.keys()) toolsets.push(await startRawToolset({ era, tools: [tool(`t${number}`, 'one')] }));
  const steady = await startRawToolset({ era, tools: [tool('steady', 'one')] });
  const index = Object.fromEntries(toolsets.map(({ url }, number) => [`toolset${number}`, url]));
  const fleet = await startFleet({ ...index, steady: steady.url }, { env: { ...NO_POLL, ...env } });
  return { toolsets, steady, fleet };
}

describe.each(ERAS)('an answer to tools/list that is no list (%s)', (era) => {
  const answers: readonly (readonly [string, Answer])[] = [
    ['tools: null', result({ tools: null })],
    ['no tools', result({})],
    ['a null entry', result({ tools: [null] })],
    ['an object', result({ tools: {} })],
    // The case wants `a` kept. By 6.2 an entry that is no tool at all makes the list malformed: what it meant to say is unknown.
    ['entries that are no tools beside one', result({ tools: [a, null, 'x', {}] })],
    ['a list of lists (variant)', result({ tools: [[a]] })],
    ['a number for a name (variant)', result({ tools: [{ ...a, name: 7 }] })],
    ['an empty name (variant)', result({ tools: [{ ...a, name: '' }] })],
    ['a JSON text in place of the list (variant)', result({ tools: JSON.stringify([a]) })],
    ['result: null (variant)', rpcResult(null)],
  ];

  test('B58: counts as a failed list, whatever is wrong with it; the tools stay, and each toolset heals by itself', async () => {
    const { toolsets, fleet } = await toolsetsOf(answers, era);
    const before = await fleet.shown();
    const mended = toolsets.map((toolset, number) => toolset.on('tools/list', answers[number]?.[1] ?? result({})));
    for (const toolset of toolsets) toolset.push();
    for (const number of toolsets.keys()) {
      const { error, tools } = await fleet.untilState(`toolset${number}`, 'failing');
      expect(error?.code).toMatch(/^(LIST_MALFORMED|TOOLSET_NOT_MCP)$/);
      expect(tools).toBe(1);
    }
    expect(await fleet.shown()).toEqual(before);
    expect(await fleet.readiness()).toMatchObject({ status: 200, body: { status: 'degraded' } });
    for (const mend of mended) mend();
    for (const [number, toolset] of toolsets.entries()) toolset.tools = [tool(`t${number}`, 'two')];
    await until(async () => Object.values(await fleet.shown()).filter((text) => text === 'two').length === toolsets.length);
  });
});

describe.each(ERAS)('one bad tool among good ones (%s)', (era) => {
  const good = tool('good', 'Good');

  test('B59: is withheld with its reason, or made fit, and the others live on', async () => {
    const toolset = await startRawToolset({
      era,
      tools: [
        good,
        { name: 'union', description: 'Union', inputSchema: { anyOf: [{ type: 'object', properties: { x: { type: 'string' } } }] } },
        { name: 'noSchema', description: 'No schema' },
        { name: 'nullSchema', inputSchema: null },
        { name: 'textSchema', inputSchema: 'object' },
        { name: 'arrayRoot', inputSchema: { type: 'array' } },
        { name: 'oddDescription', description: { text: 'x' }, inputSchema: { type: 'object' } },
      ],
    });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    // By 6.3 a union at the root is folded, so that tool is usable.
    expect(Object.keys(await fleet.shown())).toEqual(['good', 'union']);
    const reasons = await withheld(fleet);
    expect(reasons.map(({ tool: name }) => name)).toEqual(['arrayRoot', 'noSchema', 'nullSchema', 'oddDescription', 'textSchema']);
    for (const { toolset: name, reason } of reasons) {
      expect(name).toBe('toolset');
      expect(reason.length).toBeGreaterThan(10);
    }
    expect((await fleet.toolset('toolset')).state).toBe('watching');
  });

  test('B59: without a name makes the list malformed, and what is live stays', async () => {
    // The case wants the good tool kept; the contract says that an entry which is no tool makes the list malformed (6.2).
    const toolset = await startRawToolset({ era, tools: [good] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    toolset.tools = [good, { inputSchema: { type: 'object' } }];
    toolset.push();
    expect((await fleet.untilState('toolset', 'failing')).error?.code).toBe('LIST_MALFORMED');
    expect(Object.keys(await fleet.shown())).toEqual(['good']);
  });

  test('B59, variant: that becomes bad is withheld, and is shown again when it is mended', async () => {
    const toolset = await startRawToolset({ era, tools: [good, tool('other', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    toolset.tools = [good, { name: 'other', description: 'one' }];
    toolset.push();
    await fleet.untilGeneration(2);
    expect(Object.keys(await fleet.shown())).toEqual(['good']);
    expect(await withheld(fleet)).toMatchObject([{ toolset: 'toolset', tool: 'other' }]);
    toolset.tools = [good, tool('other', 'one')];
    toolset.push();
    await fleet.untilGeneration(3);
    expect(await fleet.shown()).toEqual({ good: 'Good', other: 'one' });
    expect(await withheld(fleet)).toEqual([]);
  });

  test('B60: an output schema that nobody can use takes no tool away, and the tool can be called', async () => {
    const toolset = await startRawToolset({
      era,
      tools: [
        good,
        { ...tool('t1', 'One'), outputSchema: { type: 'object', properties: { x: { $ref: '#/$defs/Nope' } } } },
        { ...tool('t2', 'Two'), outputSchema: { properties: {} } },
        { ...tool('t3', 'Three'), outputSchema: { type: 'object', properties: { x: { pattern: '(' } }, required: 'x' } },
        { ...tool('t4', 'Four'), outputSchema: 'object' },
      ],
    });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const names = ['good', 't1', 't2', 't3', 't4'];
    expect(Object.keys(await fleet.shown())).toEqual(names);
    fleet.model.reply(({ body }) =>
      body.messages.at(-1)?.role === 'tool' ? { text: 'done' } : { toolCalls: names.map((name) => ({ name, args: { called: name } })) },
    );
    const { events } = await runTurn(fleet.baseUrl, { text: 'Go' });
    const results = events.filter(({ type }) => type === 'TOOL_CALL_RESULT').map(({ content }) => content);
    expect(results.sort()).toEqual(names.map((name) => JSON.stringify({ called: name })));
  });
});

describe.each(ERAS)('an answer in an envelope that JSON-RPC does not know (%s)', (era) => {
  const list = { resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools: [tool('new', 'new')] };
  const body =
    (make: (id: unknown) => unknown): Answer =>
    (exchange) =>
      respond({ body: make(exchange.id) as object })(exchange);

  const refused: readonly (readonly [string, Answer])[] = [
    ['in an array', body((id) => [{ jsonrpc: '2.0', id, result: list }])],
    ['with a result and an error', body((id) => ({ jsonrpc: '2.0', id, result: list, error: { code: -1, message: 'x' } }))],
    ['with neither (variant)', body((id) => ({ jsonrpc: '2.0', id }))],
    ['with an error that is a text (variant)', body((id) => ({ jsonrpc: '2.0', id, error: 'broken' }))],
    ['id 0', rpcResult(list, { id: 0 })],
    ['id null and an error', body(() => ({ jsonrpc: '2.0', id: null, error: { code: -32603, message: 'x' } }))],
    ['the id as a text', body((id) => ({ jsonrpc: '2.0', id: String(id), result: list }))],
    ['no id (variant)', body(() => ({ jsonrpc: '2.0', result: list }))],
    ['another id in an event stream (variant)', sse([() => ({ jsonrpc: '2.0', id: 0, result: list })])],
    ['another id in an event stream that stays open (variant)', sse([() => ({ jsonrpc: '2.0', id: 0, result: list })], { end: 'open' })],
  ];

  test('B62, B63: counts as a failed list within the time of a list; the tools stay, and nobody else is disturbed', async () => {
    const { toolsets, steady, fleet } = await toolsetsOf(refused, era, { MCP_AGENT_API_LIST_TIMEOUT_SECONDS: '3' });
    const before = await fleet.shown();
    const mended = toolsets.map((toolset, number) => toolset.on('tools/list', refused[number]?.[1] ?? result({})));
    for (const toolset of toolsets) toolset.push();
    for (const number of toolsets.keys()) {
      const { error } = await fleet.untilState(`toolset${number}`, 'failing');
      expect(error?.code).toMatch(/^(TOOLSET_NOT_MCP|LIST_TIMEOUT|TOOLSET_UNREACHABLE|TOOLSET_PROTOCOL_ERROR)$/);
    }
    expect(await fleet.shown()).toEqual(before);
    steady.tools = [tool('steady', 'two')];
    steady.push();
    await until(async () => (await fleet.shown()).steady === 'two', { timeoutMs: 3_000 });
    for (const mend of mended) mend();
    for (const number of toolsets.keys()) await fleet.untilState(`toolset${number}`, 'watching');
  });

  test('B62: a success with error: null is taken', async () => {
    const toolset = await startRawToolset({ era, tools: [a] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    toolset.on(
      'tools/list',
      body((id) => ({ jsonrpc: '2.0', id, result: list, error: null })),
    );
    toolset.push();
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ new: 'new' });
  });

  test('B63: a second answer to the same request is ignored', async () => {
    const toolset = await startRawToolset({ era, tools: [a] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const second = { ...list, tools: [tool('second', 'never')] };
    toolset.on(
      'tools/list',
      sse([({ id }) => ({ jsonrpc: '2.0', id, result: list }), ({ id }) => ({ jsonrpc: '2.0', id, result: second })]),
    );
    toolset.push();
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ new: 'new' });
    const lists = listsOf(toolset);
    await stays(() => fleet.app.refresher.current?.number === 2 && listsOf(toolset) === lists, { durationMs: 300 });
  });
});
