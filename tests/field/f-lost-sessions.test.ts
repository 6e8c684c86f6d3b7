import { having, listsOf, startFleet, tool } from '../flows/fleet.js';
import { type Answer, destroy, pass, respond, rpcError } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { runTurn } from '../support/run-client.js';
import { stays, until } from '../support/until.js';
import { fastClock } from './fast-clock.js';

/** Nothing but a signal or a request can find anything within these tests. */
const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };

/** How much faster the service's clock runs where a test is about what happens within many seconds. */
const FACTOR = 10;

/** What the toolset was asked since its first `count` requests, as JSON-RPC methods and, where there is none, HTTP methods. */
const askedSince = (toolset: RawToolset, count: number) => toolset.requests.slice(count).map(({ rpc, method }) => rpc ?? method);

const sseError = (id: unknown): Answer =>
  respond({
    headers: { 'content-type': 'text/event-stream' },
    body: `data: ${JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32001, message: 'Session expired' } })}\n\n`,
  });

/** The ways in which servers say that they do not know a session. */
const LOSSES: readonly [string, Answer][] = [
  ['404 without a body', respond({ status: 404 })],
  ['400 "No valid session ID provided"', rpcError(-32000, 'Bad Request: No valid session ID provided', { status: 400 })],
  ['400 "Server not initialized"', rpcError(-32000, 'Bad Request: Server not initialized', { status: 400 })],
  ['503 with -32001', rpcError(-32001, 'Session not found', { status: 503 })],
  ['200 with -32600', rpcError(-32600, 'Session not found')],
  ['401 "Session not found"', rpcError(-32000, 'Session not found', { status: 401 })],
  ['410 (variant)', respond({ status: 410, body: 'Gone' })],
  ['405 (variant)', respond({ status: 405 })],
  ['404 with a page of a proxy (variant)', respond({ status: 404, headers: { 'content-type': 'text/html' }, body: '<h1>Not found</h1>' })],
  ['400 as plain text (variant)', respond({ status: 400, body: 'Invalid session ID' })],
  ['200 with -32001 in an event stream (variant)', (exchange) => sseError(exchange.id)(exchange)],
];

describe('a server that has forgotten its sessions', () => {
  test('B42: gets one new handshake without a session id, then a stream and a list, and the same list is no swap', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const agent = fleet.app.refresher.current?.agent;
    const old = [...toolset.sessions].join();
    toolset.forgetSessions();
    const before = toolset.requests.length;
    expect(await fleet.refresh('toolset')).toMatchObject({ status: 200, body: { outcome: 'unchanged' } });

    const asked = askedSince(toolset, before);
    // The question for the newest era comes first (4.1); the server answers that it is an older one.
    expect(asked).toEqual(['tools/list', 'server/discover', 'initialize', 'notifications/initialized', 'GET', 'tools/list']);
    const after = toolset.requests.slice(before);
    expect(after.find(({ rpc }) => rpc === 'initialize')?.headers['mcp-session-id']).toBeUndefined();
    const fresh = after.at(-1)?.headers['mcp-session-id'];
    expect(fresh).toBeDefined();
    expect(fresh).not.toBe(old);
    expect(fleet.app.refresher.current?.agent).toBe(agent);
  });

  test('B42: and has other tools by now, causes one swap, and its notifications are heard on the new session', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    toolset.forgetSessions();
    toolset.tools = [tool('a', 'two')];
    expect(await fleet.refresh('toolset')).toMatchObject({ body: { outcome: 'swapped' } });
    toolset.tools = [tool('a', 'three')];
    toolset.push();
    await fleet.untilGeneration(3);
    expect(await fleet.shown()).toEqual({ a: 'three' });
    expect(toolset.counts().initialize).toBe(2);
  });

  test('B43: and says so in whatever way gets one new handshake, and the list is whole', async () => {
    const toolsets = await Promise.all(LOSSES.map((_loss, number) => startRawToolset({ tools: [tool(`t${number}`, 'one')] })));
    const index = Object.fromEntries(toolsets.map(({ url }, number) => [`toolset${number}`, url]));
    const fleet = await startFleet(index, { env: NO_POLL });
    for (const [number, toolset] of toolsets.entries()) {
      toolset.tools = [tool(`t${number}`, 'two')];
      toolset.once('tools/list', LOSSES[number]?.[1] ?? pass);
    }
    // On a machine that is busy some of so many lists may leave this round as late.
    await fleet.refresh();
    await until(async () => Object.values(await fleet.shown()).every((text) => text === 'two'));
    expect(having(fleet.rounds(), 'aborted')).toEqual([]);
    const asked = toolsets.map(({ counts }, number) => {
      const { initialize, GET, 'tools/list': lists } = counts();
      return { what: LOSSES[number]?.[0], initialize, GET, lists };
    });
    expect(asked).toEqual(LOSSES.map(([what]) => ({ what, initialize: 2, GET: 2, lists: 3 })));
    for (const name of Object.keys(index)) await fleet.untilState(name, 'watching');
  });

  test('B43: and says so again and again, is asked ever less often, and keeps its tools', async () => {
    const toolsets = await Promise.all(
      LOSSES.slice(0, 6).map(async ([what, answer], number) => {
        const toolset = await startRawToolset({ tools: [tool(`t${number}`, 'one')] });
        return { what, answer, toolset, name: `toolset${number}` };
      }),
    );
    const index = Object.fromEntries(toolsets.map(({ name, toolset }) => [name, toolset.url]));
    const fleet = await startFleet(index, { env: NO_POLL, clock: fastClock(FACTOR) });
    for (const { toolset, answer } of toolsets) toolset.on('tools/list', answer);
    const before = toolsets.map(({ toolset }) => ({ lists: listsOf(toolset), handshakes: toolset.counts().initialize ?? 0 }));
    void fleet.refresh();
    for (const { name } of toolsets) await fleet.untilState(name, 'failing');
    // One list is three tries, each of which makes one new handshake at most; it is repeated after 2, 4 and 8 seconds.
    await stays(
      () =>
        toolsets.every(({ toolset }, number) => {
          const { lists = 0, handshakes = 0 } = before[number] ?? {};
          return listsOf(toolset) <= lists + 4 * 6 && (toolset.counts().initialize ?? 0) <= handshakes + 4 * 3;
        }),
      { durationMs: 20_000 / FACTOR, what: 'four rounds of three tries in twenty seconds, at most' },
    );
    expect(Object.keys(await fleet.shown())).toHaveLength(toolsets.length);
    for (const { name } of toolsets) expect((await fleet.toolset(name)).failures).toBeGreaterThanOrEqual(2);
  });
});

test('B44: ten parallel calls and a poll that meet a lost session at once cause one new handshake, and all of them end', async () => {
  const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
  const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
  fleet.model.reply(({ body }) =>
    body.messages.at(-1)?.role === 'tool'
      ? { text: 'done' }
      : { toolCalls: Array.from({ length: 10 }, (_, number) => ({ name: 'a', args: { number } })) },
  );
  toolset.forgetSessions();
  const [turn, refreshed] = await Promise.all([runTurn(fleet.baseUrl, { text: 'Go' }), fleet.refresh('toolset')]);
  expect(refreshed).toMatchObject({ body: { outcome: 'unchanged' } });
  const results = turn.events.filter(({ type }) => type === 'TOOL_CALL_RESULT').map(({ content }) => String(content));
  expect(results.sort()).toEqual(Array.from({ length: 10 }, (_, number) => JSON.stringify({ number })));
  expect(toolset.received).toHaveLength(10);
  expect(toolset.counts().initialize).toBe(2);
  expect(turn.events.at(-1)?.type).toBe('RUN_FINISHED');
});

test("B44, variant: calls of several users that meet a lost session at once cause one new handshake, and no sessions of the users' own", async () => {
  const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
  const connections = { toolset: toolset.url };
  const fleet = await startFleet(connections, { env: NO_POLL });
  fleet.index.set(connections, { toolsets: [{ name: 'toolset', credential_headers: ['x-demo-token'] }] });
  // Other credential headers make a new session and a new generation (3.12, 5.1); the test begins after both.
  await fleet.untilGeneration(2);
  await until(async () => toolset.counts().initialize === 2 && (await fleet.toolset('toolset')).state === 'watching');
  fleet.model.reply(({ body }) =>
    body.messages.at(-1)?.role === 'tool' ? { text: 'done' } : { toolCalls: Array.from({ length: 5 }, () => ({ name: 'a', args: {} })) },
  );
  toolset.forgetSessions();
  const users = ['ann', 'bob', 'cleo'];
  const turns = await Promise.all(users.map((user) => runTurn(fleet.baseUrl, { text: 'Go', headers: { 'x-demo-token': user } })));
  for (const { events } of turns) {
    expect(events.filter(({ type }) => type === 'TOOL_CALL_RESULT').map(({ content }) => content)).toEqual(Array(5).fill('{}'));
  }
  expect(toolset.received.map(({ headers }) => headers['x-demo-token']).sort()).toEqual(users.flatMap((user) => Array(5).fill(user)));
  expect(toolset.counts().initialize).toBe(3);
});

test('B42, variant: a session that is lost between two pages of a list begins the walk anew, on one new session', async () => {
  const toolset = await startRawToolset({ tools: [tool('a', 'one'), tool('b', 'one'), tool('c', 'one')], pageSize: 2 });
  const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
  toolset.once('tools/list', pass, async (exchange) => {
    toolset.forgetSessions();
    toolset.tools = [tool('x', 'two'), tool('y', 'two'), tool('z', 'two')];
    await pass(exchange);
  });
  const before = toolset.requests.length;
  expect(await fleet.refresh('toolset')).toMatchObject({ body: { outcome: 'swapped' } });
  expect(await fleet.shown()).toEqual({ x: 'two', y: 'two', z: 'two' });
  const lists = toolset.requests.slice(before).filter(({ rpc }) => rpc === 'tools/list');
  const cursors = lists.map(({ body }) => (body as { params?: { cursor?: unknown } }).params?.cursor);
  expect(cursors).toEqual([undefined, 'after 2', undefined, 'after 2']);
  expect(toolset.counts().initialize).toBe(2);
});

describe('a server that is down for some attempts', () => {
  test('B47: never leaves the agent without its tools, and comes back by itself, in every era', async () => {
    const eras = ['legacy', 'modern', 'stateless'] as const;
    const first = await Promise.all(eras.map((era) => startRawToolset({ era, tools: [tool(era, 'one')] })));
    const index = Object.fromEntries(eras.map((era, number) => [era, first[number]?.url ?? '']));
    const fleet = await startFleet(index, { env: { ...NO_POLL, MCP_AGENT_API_REFRESH_SECONDS: '0.2' } });
    const agent = fleet.app.refresher.current?.agent;
    const before = await fleet.shown();
    for (const toolset of first) await toolset.close();
    for (const era of eras) await until(async () => (await fleet.toolset(era)).failures >= 3, { what: `three failed attempts (${era})` });
    for (const era of eras)
      expect(await fleet.toolset(era)).toMatchObject({ state: 'failing', tools: 1, error: { code: 'TOOLSET_UNREACHABLE' } });
    expect(await fleet.shown()).toEqual(before);

    const second = await Promise.all(first.map(({ era, port }) => startRawToolset({ era, port, tools: [tool(era, 'one')] })));
    for (const era of eras) await fleet.untilState(era, era === 'stateless' ? 'polling' : 'watching');
    expect(fleet.app.refresher.current?.agent).toBe(agent);
    for (const toolset of second) toolset.tools = [tool(toolset.era, 'two')];
    for (const toolset of second) toolset.push();
    await until(async () => Object.values(await fleet.shown()).every((description) => description === 'two'));
    expect(Object.keys(await fleet.shown())).toHaveLength(3);
  });

  test('B47, variant: and whose first handshakes then break off in the middle, is connected once it finishes one', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    toolset.once('initialize', destroy, destroy);
    toolset.once('notifications/initialized', destroy, respond({ status: 503 }));
    toolset.forgetSessions();
    toolset.tools = [tool('a', 'two')];
    toolset.cutStreams('rst');
    await fleet.untilGeneration(2);
    await fleet.untilState('toolset', 'watching');
    toolset.tools = [tool('a', 'three')];
    toolset.push();
    await fleet.untilGeneration(3);
    expect(await fleet.shown()).toEqual({ a: 'three' });
    // Of everything that was begun and not finished, nothing is left.
    await until(() => toolset.streams.size === 1);
  });

  test('B47, variant: and whose old stream ends only after the new one is open, stays listened to', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const oldStreams = [...toolset.streams];
    toolset.forgetSessions();
    await fleet.refresh('toolset');
    for (const stream of oldStreams) stream.cut('fin');
    await until(() => toolset.streams.size === 1);
    await stays(() => toolset.counts().initialize === 2 && toolset.streams.size === 1, { durationMs: 400 });
    toolset.tools = [tool('a', 'two')];
    toolset.push();
    await fleet.untilGeneration(2);
    expect(having(fleet.rounds(), 'aborted')).toEqual([]);
  });
});

test('B43, variant: a server that gives a new session and forgets it at once, every time, is not asked in a hot loop', async () => {
  const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
  const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
  toolset.on('notifications/initialized', async (exchange) => {
    toolset.forgetSessions();
    await pass(exchange);
  });
  toolset.forgetSessions();
  toolset.cutStreams('rst');
  await fleet.untilState('toolset', 'failing');
  const before = toolset.requests.length;
  await stays(() => toolset.requests.length <= before + 60, { durationMs: 2_000, what: 'no hot loop' });
  expect(await fleet.shown()).toEqual({ a: 'one' });
});
