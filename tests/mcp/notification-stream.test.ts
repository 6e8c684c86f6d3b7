import type { Clock } from '../../src/core/ports.js';
import { systemClock } from '../../src/system-clock.js';
import * as answers from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { startProxy } from '../support/tcp-proxy.js';
import { stays, until } from '../support/until.js';
import { watchedSession } from './session-fixture.js';

const TOOLS = [{ name: 'a', inputSchema: { type: 'object' } }];

/** How often the stream was asked for, whichever way the era has. */
const opens = (toolset: RawToolset) => (toolset.counts().GET ?? 0) + (toolset.counts()['subscriptions/listen'] ?? 0);

describe.each(['legacy', 'modern'] as const)('the notification stream of a %s toolset', (era) => {
  it('carries signals of tools and of views', async () => {
    const toolset = await startRawToolset({ era, tools: TOOLS });
    const session = watchedSession(toolset.url);
    await session.start();
    toolset.push();
    toolset.push({ method: 'notifications/resources/list_changed' });
    toolset.push({ method: 'notifications/resources/updated', params: { uri: 'ui://kb/x' } });
    toolset.push({ method: 'notifications/unknown' });
    await until(() => session.views.length === 2);
    expect(session.signals).toEqual(['notification']);
    expect(session.views).toEqual([undefined, 'ui://kb/x']);
  });

  it.each(['fin', 'rst', 'graceful'] as const)('is opened again when it ends (%s): a reconnect, and no change of state', async (how) => {
    const toolset = await startRawToolset({ era, tools: TOOLS });
    const session = watchedSession(toolset.url);
    await session.start();
    toolset.cutStreams(how);
    await until(() => session.signals.includes('reconnect'));
    expect(session.pushes).toEqual(['watching']);
    toolset.push();
    await until(() => session.signals.includes('notification'));
    expect(toolset.streams.size).toBe(1);
  });

  it('is polling after a failed attempt, goes on trying, and watches again', async () => {
    const toolset = await startRawToolset({ era, tools: TOOLS });
    const session = watchedSession(toolset.url);
    await session.start();
    toolset.on(era === 'legacy' ? 'GET' : 'subscriptions/listen', answers.respond({ status: 503 }), { times: 6 });
    toolset.cutStreams('rst');
    await until(() => session.pushes.length === 2);
    expect(session.pushes).toEqual(['watching', 'polling']);
    expect(session.signals).toEqual(['reconnect']);
    expect(await session.names()).toEqual(['a']);
    await until(() => session.pushes.at(-1) === 'watching');
    expect(session.signals).toEqual(['reconnect', 'reconnect']);
    toolset.push();
    await until(() => session.signals.includes('notification'));
  });

  it('survives priming events, comments, garbage and messages that nobody knows', async () => {
    const toolset = await startRawToolset({ era, tools: TOOLS });
    const session = watchedSession(toolset.url);
    await session.start();
    for (const stream of toolset.streams) {
      stream.write('id: 1\ndata: \n\n: ping\n\nretry: 500\n\ndata: {"broken\n\ndata: 42\n\ndata: {"jsonrpc":"2.0"}\n\n');
      stream.write('event: other\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n');
      stream.write('data: {"jsonrpc":"2.0","id":"nobody","result":{}}\n\n');
    }
    toolset.push();
    await until(() => session.signals.length > 0);
    expect(session.signals).toEqual(['notification']);
    expect(opens(toolset)).toBe(1);
  });

  it('hears a toolset that did not declare that it would notify', async () => {
    const toolset = await startRawToolset({ era, tools: TOOLS, capabilities: { tools: {} }, honour: (wanted) => wanted });
    const session = watchedSession(toolset.url);
    await session.start();
    toolset.push();
    await until(() => session.signals.includes('notification'));
  });

  it('does not hold up the connection while a proxy keeps its headers back', async () => {
    const toolset = await startRawToolset({
      era,
      tools: TOOLS,
      streamHeaders: 'with the first byte',
      honour: era === 'modern' ? () => ({}) : undefined,
    });
    if (era === 'modern') toolset.on('subscriptions/listen', answers.hang);
    const session = watchedSession(toolset.url, { limits: { streamOpenMs: 50 } });
    await session.start();
    expect(session.status().push).toBe('polling');
    expect(await session.names()).toEqual(['a']);
    if (era === 'modern') return;
    for (const stream of toolset.streams) stream.write(': hello\n\n');
    await until(() => session.status().push === 'watching');
    expect(session.signals).toEqual(['reconnect']);
  });

  it('that ends at once, over and over, is asked for ever less often', async () => {
    const toolset = await startRawToolset({ era, tools: TOOLS });
    const answer: answers.Answer = async (exchange) => {
      await answers.pass(exchange);
      setTimeout(() => toolset.cutStreams('fin'), 5);
    };
    toolset.on(era === 'legacy' ? 'GET' : 'subscriptions/listen', answer);
    // The contract's times divided by twenty: a minute is three seconds.
    const session = watchedSession(toolset.url, { limits: { reopenMinMs: 5, reopenMaxMs: 1_500, stableMs: 1_500 } });
    await session.start();
    await stays(() => opens(toolset) <= 15, { durationMs: 3_000, what: 'at most 15 streams' });
    expect(opens(toolset)).toBeGreaterThan(4);
  });

  it('that stayed open for a while is opened again as if it had never ended before', async () => {
    const toolset = await startRawToolset({ era, tools: TOOLS });
    const session = watchedSession(toolset.url, { limits: { stableMs: 250 } });
    await session.start();
    const cut = async () => {
      const before = opens(toolset);
      toolset.cutStreams('fin');
      await until(() => opens(toolset) > before && session.status().push === 'watching');
      return performance.now();
    };
    await cut();
    // A second end soon after the first one is told, because the stream may not last this time either.
    const openSince = await cut();
    expect(session.pushes).toContain('polling');
    const told = session.pushes.length;
    await until(() => performance.now() - openSince > 400);
    await cut();
    expect(session.pushes.slice(told)).not.toContain('polling');
  });

  it('that was black-holed is found dead after three missed beats', async () => {
    const toolset = await startRawToolset({ era, tools: TOOLS, keepAliveMs: 100 });
    const proxy = await startProxy(toolset.port);
    const session = watchedSession(`${proxy.origin}/mcp`);
    await session.start();
    await stays(() => session.signals.length === 0, { durationMs: 700, what: 'a stream with regular beats to be left alone' });
    proxy.blackHoleOpen('both');
    await until(() => session.signals.includes('reconnect'), { timeoutMs: 5_000, what: 'the dead stream to be noticed' });
    await until(() => session.status().push === 'watching');
    toolset.push();
    await until(() => session.signals.includes('notification'));
  });
});

describe('the GET stream', () => {
  it.each([400, 401, 404, 406, 501])('refused with %i is polling, asked for rarely, and harms nothing else', async (getStatus) => {
    const toolset = await startRawToolset({ era: 'stateless', tools: TOOLS });
    toolset.on('GET', answers.respond({ status: getStatus }));
    const session = watchedSession(toolset.url, { limits: { refusedMs: 300 } });
    await session.start();
    expect(session.status().push).toBe('polling');
    expect(await session.names()).toEqual(['a']);
    const gets = () => toolset.requests.filter(({ method }) => method === 'GET').map(({ at }) => at);
    await until(() => gets().length === 4, { what: 'more attempts' });
    // Arrival times vary a little; a hot loop would be far below this.
    for (const [index, at] of gets().slice(1).entries()) expect(at - (gets()[index] ?? 0)).toBeGreaterThan(250);
    expect(toolset.counts().initialize).toBe(1);
    expect(session.signals).toEqual([]);
  });

  it('refused with 405 is not asked for again', async () => {
    const toolset = await startRawToolset({ era: 'stateless', tools: TOOLS });
    const session = watchedSession(toolset.url, { limits: { refusedMs: 30 } });
    await session.start();
    await stays(() => toolset.counts().GET === 1, { durationMs: 400, what: 'one GET' });
    expect(session.status().push).toBe('polling');
  });

  it('refused with 405 after it was open means no stream, and no new session at once', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const session = watchedSession(toolset.url);
    await session.start();
    toolset.getStatus = 405;
    toolset.cutStreams('rst');
    await until(() => session.status().push === 'polling');
    expect(session.signals).toEqual(['reconnect']);
    expect(await session.names()).toEqual(['a']);
    await stays(() => toolset.counts().initialize === 1, { durationMs: 300, what: 'one session' });
  });

  it('that fails for ever leaves the session and its calls alone', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    toolset.on('GET', answers.respond({ status: 500 }));
    const session = watchedSession(toolset.url, { limits: { reopenMinMs: 5, reopenMaxMs: 1_500, stableMs: 1_500 } });
    await session.start();
    await stays(() => (toolset.counts().GET ?? 0) <= 15, { durationMs: 3_000, what: 'at most 15 attempts a minute' });
    expect(toolset.counts().initialize).toBe(1);
    expect((await session.call({ tool: 'a', args: {}, timeoutMs: 5_000 })).isError).toBe(false);
  });

  it('as 200 with another content type is no stream', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    toolset.on('GET', answers.respond({ headers: { 'content-type': 'text/html' }, body: '<html>' }));
    const session = watchedSession(toolset.url);
    await session.start();
    expect(session.status().push).toBe('polling');
  });

  it('goes on after the last event that was heard', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const session = watchedSession(toolset.url);
    await session.start();
    for (const stream of toolset.streams) stream.write('id: e-7\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n');
    await until(() => session.signals.length === 1);
    toolset.cutStreams('fin');
    await until(() => session.signals.includes('reconnect'));
    expect(toolset.requests.filter(({ method }) => method === 'GET').map(({ headers }) => headers['last-event-id'])).toEqual([
      undefined,
      'e-7',
    ]);
  });

  it.each([
    [0, 100],
    [400, 400],
  ])('is opened again after the `retry: %i` that the server asked for, but not faster than every 100 ms', async (retry, leastMs) => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const waits: number[] = [];
    const clock: Clock = {
      ...systemClock,
      after: (delayMs, run) => {
        waits.push(delayMs);
        return systemClock.after(delayMs, run);
      },
    };
    const session = watchedSession(toolset.url, { clock });
    await session.start();
    for (const stream of toolset.streams) stream.write(`retry: ${retry}\n\n`);
    waits.length = 0;
    toolset.cutStreams('fin');
    await until(() => session.signals.includes('reconnect'));
    expect(waits).toContain(leastMs);
  });

  it.each([404, 400, 409])('answered by %i after it was open means a lost session: one new one, and a reconnect', async (status) => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const session = watchedSession(toolset.url);
    await session.start();
    toolset.once('GET', answers.rpcError(-32001, 'Session not found', { status }));
    toolset.cutStreams('rst');
    await until(() => session.signals.includes('reconnect'));
    expect(toolset.counts()).toMatchObject({ initialize: 2, GET: 3 });
    expect(session.status().push).toBe('watching');
    expect(session.pushes).toEqual(['watching']);
  });

  it('answers pings of the server', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const session = watchedSession(toolset.url);
    await session.start();
    for (const stream of toolset.streams) stream.write('data: {"jsonrpc":"2.0","id":"p1","method":"ping"}\n\n');
    await until(() => toolset.requests.some(({ body }) => String(JSON.stringify(body)).includes('"id":"p1"')));
  });
});

describe('the subscription of the 2026 era', () => {
  it('of which nothing is honoured is polling, and is not asked for again', async () => {
    const toolset = await startRawToolset({ era: 'modern', tools: TOOLS, capabilities: { tools: {} } });
    const session = watchedSession(toolset.url);
    await session.start();
    expect(session.status().push).toBe('polling');
    await stays(() => opens(toolset) === 1, { durationMs: 500, what: 'one subscription' });
  });

  it.each<[string, answers.Answer]>([
    ['an unknown method', answers.rpcError(-32601, 'Method not found')],
    ['a limit', answers.rpcError(-32603, 'Subscription limit reached')],
    ['an acknowledgement that is no stream', answers.rpcResult({})],
    ['404', answers.respond({ status: 404 })],
  ])('refused by %s is polling', async (_what, answer) => {
    const toolset = await startRawToolset({ era: 'modern', tools: TOOLS });
    toolset.on('subscriptions/listen', answer);
    const session = watchedSession(toolset.url);
    await session.start();
    expect(session.status().push).toBe('polling');
    expect(await session.names()).toEqual(['a']);
    await stays(() => opens(toolset) === 1, { durationMs: 300, what: 'one subscription' });
  });

  it('brings the facts of the server that answers now', async () => {
    const toolset = await startRawToolset({ era: 'modern', tools: TOOLS, instructions: 'old' });
    const session = watchedSession(toolset.url);
    await session.start();
    toolset.instructions = 'new';
    toolset.cutStreams('graceful');
    await until(() => session.signals.includes('reconnect'));
    expect((await session.listNow()).instructions).toBe('new');
  });
});

describe('an outage', () => {
  it.each(['legacy', 'modern'] as const)('ends with the stream open again as soon as a list answers (%s)', async (era) => {
    const toolset = await startSdkToolset({ era, tools: [{ name: 'old' }] });
    const session = watchedSession(toolset.url, { limits: { reopenMinMs: 100, reopenMaxMs: 600_000 } });
    await session.start();
    await toolset.kill();
    await until(() => session.status().push !== 'watching');
    for (let attempt = 0; attempt < 3; attempt += 1) await session.listNow().catch(() => undefined);
    await toolset.restart({ tools: [{ name: 'new' }] });
    expect(await session.names()).toEqual(['new']);
    await until(() => session.status().push === 'watching', { timeoutMs: 5_000 });
  });

  it('ends with no stream besides the one that is in use', async () => {
    const toolset = await startRawToolset({ tools: TOOLS, keepAliveMs: 100 });
    const proxy = await startProxy(toolset.port);
    const session = watchedSession(`${proxy.origin}/mcp`, { limits: { connectMs: 700 } });
    await session.start();
    await stays(() => session.signals.length === 0, { durationMs: 500 });
    proxy.blackHole('both', true);
    await until(() => session.status().push !== 'watching', { what: 'the outage to be noticed' });
    proxy.blackHole('both', false);
    proxy.cut('rst');
    // The first list may still meet a socket that was cut; its owner repeats it.
    await until(() => session.names().catch(() => undefined));
    await until(() => session.status().push === 'watching');
    await until(() => toolset.streams.size === 1, { what: 'one stream' });
  });
});

describe('reopenStream', () => {
  it.each(['legacy', 'modern'] as const)('opens another stream in place of the one that missed a signal (%s)', async (era) => {
    const toolset = await startSdkToolset({ era, tools: [{ name: 'a' }] });
    const session = watchedSession(toolset.url);
    await session.start();
    session.reopenStream();
    await until(() => session.signals.includes('reconnect'));
    await until(() => toolset.streams() === 1);
    toolset.notify();
    await until(() => session.signals.includes('notification'));
    expect(session.status().push).toBe('watching');
  });
});
