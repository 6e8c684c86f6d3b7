import { openSession } from '../../src/mcp/session.js';
import { systemClock } from '../../src/system-clock.js';
import { Turnstile } from '../../src/turnstile.js';
import { onCleanup } from '../support/cleanup.js';
import * as answers from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { until } from '../support/until.js';
import { codeOf, endpointOf, SHORT, SILENT, watchedSession } from './session-fixture.js';

const TOOLS = [{ name: 'a', inputSchema: { type: 'object' } }];

describe('a lost session', () => {
  it.each<[string, answers.Answer]>([
    ['404', answers.respond({ status: 404 })],
    ['404 with -32001', answers.rpcError(-32001, 'Session not found', { status: 404 })],
    ["400 'No valid session ID provided'", answers.rpcError(-32000, 'Bad Request: No valid session ID provided', { status: 400 })],
    ["400 'Server not initialized'", answers.rpcError(-32000, 'Bad Request: Server not initialized', { status: 400 })],
    ['400 without a body', answers.respond({ status: 400 })],
    ['405', answers.respond({ status: 405 })],
    ['410', answers.respond({ status: 410 })],
    ['503 with -32001', answers.rpcError(-32001, 'Session not found', { status: 503 })],
    ['200 with -32600', answers.rpcError(-32600, 'Session not found')],
    ['401 as text', answers.respond({ status: 401, body: 'Session not found' })],
    ['400 with -32022', answers.rpcError(-32022, 'Unsupported protocol version', { status: 400 })],
  ])('met by a list (%s) is made anew once, and the list is whole', async (_what, answer) => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const session = watchedSession(toolset.url);
    await session.start();
    toolset.once('tools/list', answer);
    expect(await session.names()).toEqual(['a']);
    expect(toolset.counts()).toMatchObject({ initialize: 2, 'tools/list': 2, GET: 2 });
    expect(session.status().push).toBe('watching');
  });

  it('makes no storm when the fresh one is refused as well', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const session = watchedSession(toolset.url);
    await session.start();
    toolset.on('tools/list', answers.rpcError(-32001, 'Session not found', { status: 404 }));
    expect(await codeOf(session.listNow())).toBe('TOOLSET_REFUSED');
    expect(toolset.counts()).toMatchObject({ initialize: 2, 'tools/list': 2 });
  });

  it('met by ten calls and a list at once is made anew once', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const session = watchedSession(toolset.url);
    await session.start();
    toolset.forgetSessions();
    const calls = Array.from({ length: 10 }, (_, x) => session.call({ tool: 'a', args: { x }, timeoutMs: 5_000 }));
    const [names, ...results] = await Promise.all([session.names(), ...calls]);
    expect(names).toEqual(['a']);
    expect(results.every(({ isError }) => !isError)).toBe(true);
    expect(toolset.counts().initialize).toBe(2);
    expect(toolset.received).toHaveLength(10);
  });

  it('is found by the heartbeat of a watching session', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const session = watchedSession(toolset.url, { heartbeatSeconds: 0.05 });
    await session.start();
    await until(() => (toolset.counts().ping ?? 0) >= 2, { what: 'two heartbeats' });
    expect(session.signals).toEqual([]);
    toolset.forgetSessions();
    await until(() => session.signals.includes('reconnect'), { what: 'a reconnect signal' });
    expect(toolset.counts().initialize).toBe(2);
    expect(session.status().push).toBe('watching');
  });

  it('is asked for by server/discover in the 2026 era', async () => {
    const toolset = await startRawToolset({ era: 'modern', tools: TOOLS });
    const session = watchedSession(toolset.url, { heartbeatSeconds: 0.05 });
    await session.start();
    await until(() => (toolset.counts()['server/discover'] ?? 0) >= 3, { what: 'two heartbeats' });
    expect(toolset.counts().ping).toBe(0);
    expect(session.signals).toEqual([]);
  });

  it('that cannot be made anew leaves the session without a connection, says so, and comes back with the next list', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const session = watchedSession(toolset.url);
    await session.start();
    toolset.forgetSessions();
    const off = toolset.on('initialize', answers.respond({ status: 503 }));
    toolset.on('server/discover', answers.respond({ status: 503 }), { times: 1 });
    expect(await codeOf(session.listNow())).toBe('TOOLSET_SERVER_ERROR');
    expect(session.status().push).toBe('connecting');
    off();
    expect(await session.names()).toEqual(['a']);
    expect(session.status().push).toBe('watching');
  });

  it('makes the list that was under way on it void', async () => {
    const toolset = await startRawToolset({ tools: [{ name: 'old' }] });
    const session = watchedSession(toolset.url);
    await session.start();
    let release: () => void = () => undefined;
    toolset.once('tools/list', async (exchange) => {
      const send = await exchange.prepare();
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      send();
    });
    const list = session.names();
    await until(() => toolset.counts()['tools/list'] === 1);
    toolset.tools = [{ name: 'new' }];
    toolset.forgetSessions();
    toolset.cutStreams('rst');
    await until(() => toolset.counts().initialize === 2 && session.signals.includes('reconnect'));
    release();
    expect(await list).toEqual(['new']);
  });
});

describe('the renewal of a session', () => {
  it('happens on a fresh connection, new before old, without a signal when the server is the same', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const session = watchedSession(toolset.url, { limits: { renewMs: 100 } });
    await session.start();
    await until(() => (toolset.counts().DELETE ?? 0) >= 2, { what: 'two renewals' });
    expect(session.signals).toEqual([]);
    expect(new Set(session.pushes)).toEqual(new Set(['watching']));
    expect(toolset.sessions.size).toBeLessThanOrEqual(2);
    expect(toolset.openSockets()).toBeLessThanOrEqual(8);
  });

  it('lets a polling session find out that its server learnt to push', async () => {
    const toolset = await startRawToolset({ era: 'stateless', tools: TOOLS });
    const session = watchedSession(toolset.url, { limits: { pollingRenewMs: 100 } });
    await session.start();
    expect(session.status().push).toBe('polling');
    toolset.era = 'both';
    await until(() => session.status().push === 'watching', { what: 'the session to watch' });
    expect(session.signals).toContain('reconnect');
  });

  it('keeps the old connection until its last call has ended', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    let finish: () => void = () => undefined;
    toolset.calls.set('a', async () => {
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return { content: [{ type: 'text', text: 'late' }] };
    });
    const session = watchedSession(toolset.url);
    await session.start();
    const call = session.call({ tool: 'a', args: {}, timeoutMs: 10_000 });
    await until(() => toolset.received.length === 1);
    session.renew({ ...session.endpoint, headers: { 'x-new': '1' } });
    await until(() => session.signals.includes('reconnect'));
    expect(toolset.counts().DELETE).toBe(0);
    finish();
    expect((await call).content).toEqual([{ type: 'text', text: 'late' }]);
    await until(() => toolset.counts().DELETE === 1, { what: 'the old session to end' });
  });

  it('that fails changes nothing', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const session = watchedSession(toolset.url, { limits: { renewMs: 80, renewSoonMs: 80 } });
    await session.start();
    toolset.on('server/discover', answers.respond({ status: 503 }));
    await until(() => (toolset.counts()['server/discover'] ?? 0) >= 4, { what: 'renewals to be tried again' });
    expect(session.status().push).toBe('watching');
    expect(await session.names()).toEqual(['a']);
    expect(toolset.counts().initialize).toBe(1);
  });
});

describe('an owner that throws when it is told something', () => {
  it('is reported in the log and stops nothing', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const errors: string[] = [];
    let told = 0;
    const session = openSession({
      endpoint: endpointOf(toolset.url),
      clock: systemClock,
      env: {},
      turnstile: new Turnstile(),
      heartbeatSeconds: 0,
      clientInfo: { name: 'test-client', version: '1.0.0' },
      limits: SHORT,
      logger: { ...SILENT, error: (message) => errors.push(message) },
      events: {
        signal: () => {
          told += 1;
          throw new Error('owner');
        },
        status: () => {
          throw new Error('owner');
        },
        viewsChanged: () => undefined,
      },
    });
    onCleanup(() => session.close());
    await session.connect(AbortSignal.timeout(10_000));
    toolset.push();
    await until(() => told === 1);
    toolset.cutStreams('rst');
    await until(() => told === 2 && toolset.streams.size === 1);
    expect((await session.list(AbortSignal.timeout(10_000))).tools).toHaveLength(1);
    expect(new Set(errors)).toEqual(new Set(['session listener failed']));
  });
});
