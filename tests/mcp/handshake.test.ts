import * as answers from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { until } from '../support/until.js';
import { codeOf, watchedSession } from './session-fixture.js';

const TOOLS = [{ name: 'a', inputSchema: { type: 'object' } }];

/** Requests that the toolset got, as JSON-RPC method or HTTP method, in order. */
const order = (toolset: { requests: readonly { method: string; rpc: string | undefined }[] }) =>
  toolset.requests.map(({ method, rpc }) => rpc ?? method);

describe('the question for the protocol era', () => {
  it.each<[string, answers.Answer]>([
    ['-32601', answers.rpcError(-32601, 'Method not found')],
    ['-32600', answers.rpcError(-32600, 'Invalid request')],
    ['-32602', answers.rpcError(-32602, 'Invalid params')],
    ['-32000', answers.rpcError(-32000, 'Server error')],
    ['400 unsupported version', answers.rpcError(-32000, 'Bad Request: Unsupported protocol version', { status: 400 })],
    ['400 no session', answers.rpcError(-32000, 'Bad Request: no session', { status: 400 })],
    ['400 as text', answers.respond({ status: 400, body: 'no valid session id' })],
    ['404', answers.respond({ status: 404 })],
    ['405', answers.respond({ status: 405 })],
    ['406', answers.respond({ status: 406 })],
    ['200 as HTML', answers.respond({ headers: { 'content-type': 'text/html' }, body: '<html>' })],
    ['200 with a null id', answers.respond({ body: { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'x' } } })],
    ['broken JSON', answers.respond({ headers: { 'content-type': 'application/json' }, body: '{' })],
    ['202', answers.respond({ status: 202 })],
    ['an event stream without the reply', answers.sse([])],
    ['500', answers.respond({ status: 500 })],
    ['nothing at all', answers.hang],
  ])('answered by %s means an older server, and one initialize (B127)', async (_what, answer) => {
    const toolset = await startRawToolset({ tools: TOOLS });
    toolset.on('server/discover', answer);
    const session = watchedSession(toolset.url);
    await session.start();
    expect(await session.names()).toEqual(['a']);
    expect(session.status()).toMatchObject({ push: 'watching', protocol: '2025-11-25' });
    expect(toolset.counts()).toMatchObject({ initialize: 1, GET: 1 });
  });

  it.each<[string, answers.Answer, string]>([
    ['408', answers.respond({ status: 408 }), 'TOOLSET_RATE_LIMITED'],
    ['425', answers.respond({ status: 425 }), 'TOOLSET_RATE_LIMITED'],
    ['429', answers.respond({ status: 429, headers: { 'retry-after': '3' } }), 'TOOLSET_RATE_LIMITED'],
    ['502', answers.respond({ status: 502 }), 'TOOLSET_SERVER_ERROR'],
    ['503', answers.respond({ status: 503 }), 'TOOLSET_SERVER_ERROR'],
    ['401', answers.respond({ status: 401 }), 'TOOLSET_UNAUTHORIZED'],
    ['403', answers.respond({ status: 403 }), 'TOOLSET_UNAUTHORIZED'],
    ['a reset', answers.destroy, 'TOOLSET_UNREACHABLE'],
  ])('answered by %s says nothing about the era: no older server is assumed', async (_what, answer, code) => {
    const toolset = await startRawToolset({ era: 'both', tools: TOOLS });
    toolset.once('server/discover', answer);
    const session = watchedSession(toolset.url);
    expect(await codeOf(session.start())).toBe(code);
    expect(toolset.counts().initialize).toBe(0);
    await session.start();
    expect(session.status().protocol).toBe('2026-07-28');
  });
});

describe('the handshake', () => {
  it('is finished, with the stream open, before the first list', async () => {
    const toolset = await startRawToolset({ tools: [] });
    toolset.on('notifications/initialized', async (exchange) => {
      toolset.tools = TOOLS;
      await answers.pass(exchange);
    });
    const session = watchedSession(toolset.url);
    expect(await session.names()).toEqual(['a']);
    expect(order(toolset)).toEqual(['server/discover', 'initialize', 'notifications/initialized', 'GET', 'tools/list']);
    expect(toolset.requests[1]?.headers['mcp-session-id']).toBeUndefined();
  });

  it.each([200, 204])('opens the stream also when initialized is answered with %i', async (initializedStatus) => {
    const toolset = await startRawToolset({ tools: TOOLS, initializedStatus });
    const session = watchedSession(toolset.url);
    await session.start();
    expect(session.status().push).toBe('watching');
  });

  it('survives notifications that come before it is finished', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const note = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
    toolset.once('initialize', async (exchange) => {
      toolset.sessions.add('early');
      const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: toolset.serverInfo };
      await answers.sse([note, { jsonrpc: '2.0', id: exchange.id, result }, note], { headers: { 'mcp-session-id': 'early' } })(exchange);
    });
    const session = watchedSession(toolset.url);
    expect(await session.names()).toEqual(['a']);
    expect(session.signals).toContain('notification');
  });

  it('reports a protocol version that nobody knows', async () => {
    const toolset = await startRawToolset({ protocolVersion: '1999-01-01' });
    expect(await codeOf(watchedSession(toolset.url).start())).toBe('TOOLSET_VERSION_UNSUPPORTED');
  });

  it.each(['2025-03-26', '2025-06-18', '2025-11-25'])('works with a server that insists on %s', async (protocolVersion) => {
    const toolset = await startRawToolset({ tools: TOOLS, protocolVersion, strictVersion: true });
    const session = watchedSession(toolset.url);
    await session.start();
    expect(session.status()).toMatchObject({ push: 'watching', protocol: protocolVersion });
    expect(await session.names()).toEqual(['a']);
  });

  it('is one for many that connect at once', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const session = watchedSession(toolset.url);
    await Promise.all(Array.from({ length: 10 }, () => session.start()));
    expect(toolset.counts()).toMatchObject({ initialize: 1, GET: 1 });
  });

  it('can be left by one caller while it goes on for another', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    toolset.once('initialize', answers.delayed(200));
    const session = watchedSession(toolset.url);
    const patient = session.start();
    expect(await codeOf(session.connect(AbortSignal.timeout(20)))).toBe('TOOLSET_UNREACHABLE');
    await patient;
    expect(toolset.counts().initialize).toBe(1);
  });

  it('follows a redirect within the origin that keeps the method, and no other', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const other = await startRawToolset({ tools: TOOLS });
    const moved = (location: string, status = 307) => answers.respond({ status, headers: { location } });
    toolset.on('*', (exchange) => (exchange.request.url === '/mcp' ? moved('/mcp/')(exchange) : answers.pass(exchange)));
    expect(await watchedSession(toolset.url).names()).toEqual(['a']);
    toolset.on('*', moved(other.url));
    expect(await codeOf(watchedSession(toolset.url, { headers: { authorization: 'Bearer secret' } }).start())).toBe('TOOLSET_REFUSED');
    expect(other.requests).toHaveLength(0);
  });
});

describe('what cannot be reached', () => {
  it('has a code of its own for each cause', async () => {
    const toolset = await startRawToolset();
    await toolset.close();
    expect(await codeOf(watchedSession(toolset.url).start())).toBe('TOOLSET_UNREACHABLE');
    expect(await codeOf(watchedSession('http://no-such-host.invalid/mcp').start())).toBe('TOOLSET_UNKNOWN_HOST');
  });

  it('is connected to as soon as it is there', async () => {
    const toolset = await startRawToolset();
    await toolset.close();
    const session = watchedSession(toolset.url);
    for (let attempt = 0; attempt < 3; attempt += 1) expect(await codeOf(session.listNow())).toBe('TOOLSET_UNREACHABLE');
    const back = await startRawToolset({ tools: TOOLS, port: toolset.port });
    expect(await session.names()).toEqual(['a']);
    expect(back.counts().initialize).toBe(1);
    expect(session.status().push).toBe('watching');
  });
});

describe('closing', () => {
  it('during the handshake ends it, and nothing is sent afterwards', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    toolset.on('initialize', answers.hang);
    const session = watchedSession(toolset.url);
    const connecting = codeOf(session.start());
    await until(() => toolset.counts().initialize === 1);
    await session.close();
    expect(await connecting).toBe('SESSION_CLOSED');
    await until(() => toolset.openSockets() === 0, { what: 'every socket to be closed' });
    expect(await codeOf(session.listNow())).toBe('SESSION_CLOSED');
    expect(await codeOf(session.call({ tool: 'a', args: {}, timeoutMs: 100 }))).toBe('SESSION_CLOSED');
    expect(toolset.requests).toHaveLength(2);
  });

  it('does not wait longer than a second for the end of the server session', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    toolset.on('DELETE', answers.hang);
    const session = watchedSession(toolset.url);
    await session.start();
    const started = performance.now();
    await session.close();
    expect(performance.now() - started).toBeLessThan(4_000);
    expect(toolset.counts().DELETE).toBe(1);
    await until(() => toolset.openSockets() === 0);
  });
});

describe('headers', () => {
  it('of the index go with every request, and the environment fills in for declared credentials', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const session = watchedSession(toolset.url, {
      headers: { 'x-service': 's' },
      credentialHeaders: ['x-demo-token', 'x-unset'],
      env: { X_DEMO_TOKEN: 'from-env', X_OTHER: 'no' },
    });
    await session.start();
    await session.listNow();
    expect(order(toolset)).toContain('GET');
    for (const { headers } of toolset.requests) {
      expect(headers).toMatchObject({ 'x-service': 's', 'x-demo-token': 'from-env' });
      expect(headers).not.toHaveProperty('x-unset');
      expect(headers).not.toHaveProperty('x-other');
    }
  });

  it('that changed lead to a new connection, new before old, and to a signal', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const session = watchedSession(toolset.url, { headers: { 'x-service': 'old' } });
    await session.start();
    session.renew({ ...session.endpoint, headers: { 'x-service': 'new' } });
    await until(() => toolset.counts().DELETE === 1, { what: 'the old session to end' });
    expect(session.signals).toEqual(['reconnect']);
    expect(session.pushes).not.toContain('connecting');
    const methods = order(toolset);
    expect(methods.lastIndexOf('GET')).toBeLessThan(methods.indexOf('DELETE'));
    await session.listNow();
    expect(toolset.requests.at(-1)?.headers['x-service']).toBe('new');
    expect(toolset.sessions.size).toBe(1);
  });
});
