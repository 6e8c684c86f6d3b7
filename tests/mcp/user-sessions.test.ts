import { gate } from '../support/gate.js';
import { type Answer, pass, respond, rpcError } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { until } from '../support/until.js';
import { codeOf, type FixtureOptions, SILENT, watchedSession } from './session-fixture.js';

const SERVICE = 'Bearer service';

type Refusal = 401 | 403 | 404;

const refused = (status: Refusal): Answer =>
  status === 404 ? rpcError(-32001, 'Session not found', { status }) : respond({ status, body: { error: 'invalid_token' } });

interface BindingToolset extends RawToolset {
  /** The most sessions that were open at once. */
  mostSessions(): number;
}

/** A toolset whose sessions answer one caller only: who opened them, or whose tool call came first. */
async function startBindingToolset(binds: 'to who opened it' | 'to its first caller', status: Refusal): Promise<BindingToolset> {
  const toolset = await startRawToolset({ tools: [{ name: 'a', inputSchema: { type: 'object' } }] });
  const owners = new Map<string, string>();
  let most = 0;
  toolset.on('*', async (exchange) => {
    const { headers } = exchange.request;
    const user = headers.authorization ?? 'nobody';
    if (exchange.what === 'initialize') {
      const sending = exchange.prepare();
      most = Math.max(most, toolset.sessions.size);
      if (binds === 'to who opened it') owners.set([...toolset.sessions].at(-1) ?? '', user);
      return (await sending)();
    }
    const session = String(headers['mcp-session-id']);
    if (exchange.what === 'tools/call' && !owners.has(session)) owners.set(session, user);
    const owner = owners.get(session);
    return owner === undefined || owner === user || exchange.what === 'DELETE' ? pass(exchange) : refused(status)(exchange);
  });
  return Object.assign(toolset, { mostSessions: () => most });
}

/** Waits that only bound failures are long, because many sessions at once take their time on a busy machine. */
function startSession(toolset: RawToolset, { limits, ...options }: FixtureOptions = {}) {
  return watchedSession(toolset.url, {
    ...{ credentialHeaders: ['authorization'], headers: { authorization: SERVICE }, ...options },
    limits: { callWaitMs: 20_000, probeMs: 10_000, ...limits },
  });
}

const callAs = (user: number | string) => ({
  tool: 'a',
  args: { user: String(user) },
  headers: { authorization: `Bearer ${user}` },
  timeoutMs: 10_000,
});

const users = (count: number) => Array.from({ length: count }, (_, user) => user);

function expectOwnHeaders({ received }: RawToolset): void {
  for (const { args, headers } of received) expect(headers.authorization).toBe(`Bearer ${args.user}`);
}

describe.each(['to who opened it', 'to its first caller'] as const)('a toolset that binds a session %s', (binds) => {
  it.each<Refusal>([401, 403, 404])('and answers others with %s gets a session per user', async (status) => {
    const toolset = await startBindingToolset(binds, status);
    const messages: string[] = [];
    const session = startSession(toolset, { logger: { ...SILENT, info: (message) => void messages.push(message) } });
    expect(await session.names()).toEqual(['a']);
    for (const user of [1, 2, 1, 2]) expect(await session.call(callAs(user))).toMatchObject({ isError: false });
    const results = await Promise.all(users(30).map((user) => session.call(callAs(user))));
    expect(results.map(({ content }) => content[0]?.text)).toEqual(users(30).map((user) => JSON.stringify({ user: String(user) })));
    expectOwnHeaders(toolset);
    // What the service does for all of them stays its own, on a session that works.
    expect(await session.names()).toEqual(['a']);
    await until(() => session.status().push === 'watching' && toolset.streams.size === 1);
    for (const { rpc, method, headers } of toolset.requests)
      if (rpc === 'tools/list' || method === 'GET') expect(headers.authorization).toBe(SERVICE);
    expect(messages).toEqual(['sessions are per user']);
    // A user who comes again meets his own session.
    const handshakes = toolset.counts().initialize;
    await Promise.all(users(30).map((user) => session.call(callAs(user))));
    expect(toolset.counts().initialize).toBe(handshakes);
    await session.close();
    await until(() => toolset.sessions.size <= 1 && toolset.openSockets() === 0);
  });
});

it('calls without credentials stay on the shared session', async () => {
  const toolset = await startBindingToolset('to who opened it', 403);
  const session = startSession(toolset);
  await session.call(callAs(1));
  await session.call({ tool: 'a', args: { user: 'service' }, timeoutMs: 5_000 });
  expect(toolset.received.at(-1)?.headers.authorization).toBe(SERVICE);
});

it('there are only so many sessions of users; who has to wait for one gets it when another call is over', async () => {
  const toolset = await startBindingToolset('to who opened it', 403);
  const session = startSession(toolset, { limits: { maxUserSessions: 3 } });
  await session.call(callAs('first'));
  await Promise.all(users(20).map((user) => session.call(callAs(user))));
  expectOwnHeaders(toolset);
  expect(toolset.received).toHaveLength(21);
  // Three of users, the shared one, and the one that took its place.
  expect(toolset.mostSessions()).toBeLessThanOrEqual(5);
});

it('who waits too long for a session is told so, and nothing is left waiting', async () => {
  const toolset = await startBindingToolset('to who opened it', 403);
  const session = startSession(toolset, { limits: { maxUserSessions: 1, callWaitMs: 300, connectMs: 1_000 } });
  await session.call(callAs(1));
  const barrier = gate();
  toolset.calls.set('a', async (args) => {
    if (args.user === '1') await barrier.pass();
    return { content: [] };
  });
  const slow = session.call(callAs(1));
  await until(() => barrier.waiting() === 1);
  expect(await codeOf(session.call(callAs(2)))).toBe('TOOLSET_UNREACHABLE');
  expect(await codeOf(session.call({ ...callAs(2), signal: AbortSignal.timeout(20) }))).toBe('CALL_CANCELLED');
  barrier.open();
  await slow;
  expect(await session.call(callAs(2))).toMatchObject({ isError: false });
});

it('a session that its user no longer needs is closed, at the toolset too', async () => {
  const toolset = await startBindingToolset('to who opened it', 401);
  const session = startSession(toolset, { limits: { userIdleMs: 50 } });
  await Promise.all(users(5).map((user) => session.call(callAs(user))));
  await until(() => toolset.sessions.size === 1);
  expect(await session.call(callAs(3))).toMatchObject({ isError: false });
  await until(() => toolset.sessions.size === 1);
});

it('a session of a user that the toolset forgot is made anew, and the call is repeated once', async () => {
  const toolset = await startBindingToolset('to who opened it', 403);
  const session = startSession(toolset);
  await session.call(callAs(1));
  await until(() => session.status().push === 'watching');
  toolset.forgetSessions();
  expect(await session.call(callAs(1))).toMatchObject({ isError: false });
  expect(toolset.received).toHaveLength(2);
});

it('a user whose credentials are refused everywhere is told so, and others stay on the shared session', async () => {
  const toolset = await startRawToolset({ tools: [{ name: 'a', inputSchema: { type: 'object' } }] });
  toolset.on('*', (exchange) => (exchange.request.headers.authorization === 'Bearer wrong' ? refused(401)(exchange) : pass(exchange)));
  const session = startSession(toolset);
  await session.start();
  expect(await codeOf(session.call(callAs('wrong')))).toBe('TOOLSET_UNAUTHORIZED');
  await Promise.all(users(10).map((user) => session.call(callAs(user))));
  expect(toolset.counts().initialize).toBe(1);
  expect(toolset.sessions.size).toBe(1);
});

it('a toolset that restarts is not taken for one that binds sessions', async () => {
  const toolset = await startRawToolset({ tools: [{ name: 'a', inputSchema: { type: 'object' } }] });
  const session = startSession(toolset);
  await Promise.all(users(5).map((user) => session.call(callAs(user))));
  toolset.forgetSessions();
  await Promise.all(users(5).map((user) => session.call(callAs(user))));
  expect(toolset.sessions.size).toBe(1);
  expectOwnHeaders(toolset);
});

it('other credential headers in the index end the sessions of users', async () => {
  const toolset = await startBindingToolset('to who opened it', 403);
  const session = startSession(toolset);
  await Promise.all(users(5).map((user) => session.call(callAs(user))));
  session.renew({ ...session.endpoint, credentialHeaders: ['x-other'] });
  await until(() => toolset.sessions.size === 1);
});
