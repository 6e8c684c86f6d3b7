import * as answers from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import type { CallContext } from '../support/toolset-parts.js';
import { stays, until } from '../support/until.js';
import { codeOf, watchedSession } from './session-fixture.js';

const TOOLS = [{ name: 'a', inputSchema: { type: 'object' } }];

const call = (tool = 'a', more: object = {}) => ({ tool, args: {}, timeoutMs: 5_000, ...more });

describe.each(['legacy', 'modern'] as const)('a tool call (%s)', (era) => {
  it('carries the arguments there and the whole result back', async () => {
    const run = () => ({ content: [{ type: 'text', text: 'hi' }], structuredContent: { n: 1 }, _meta: { 'x/y': 2 } });
    const toolset = await startSdkToolset({
      era,
      tools: [{ name: 'a', outputSchema: { type: 'object', properties: { n: { type: 'string' } } }, run }],
    });
    const session = watchedSession(toolset.url);
    await session.listNow();
    const result = await session.call(call('a', { args: { q: 'é✅' } }));
    expect(result).toMatchObject({
      content: [{ type: 'text', text: 'hi' }],
      structuredContent: { n: 1 },
      isError: false,
      meta: { 'x/y': 2 },
    });
    expect(toolset.calls[0]?.args).toEqual({ q: 'é✅' });
  });

  it("answers a tool's own error as a result", async () => {
    const run = () => ({ content: [{ type: 'text', text: 'no such book' }], isError: true });
    const toolset = await startSdkToolset({ era, tools: [{ name: 'a', run }] });
    expect(await watchedSession(toolset.url).call(call())).toMatchObject({ isError: true });
  });

  it('takes declared headers of its user along, authorization included, and no others and nobody else', async () => {
    const toolset = await startSdkToolset({ era, tools: [{ name: 'a' }] });
    const session = watchedSession(toolset.url, {
      credentialHeaders: ['authorization', 'x-user'],
      headers: { authorization: 'Bearer service' },
      env: { X_USER: 'fallback' },
    });
    await session.start();
    const users = Array.from({ length: 50 }, (_, index) => String(index));
    await Promise.all(
      users.map((user) =>
        session.call(call('a', { args: { user }, headers: { Authorization: `Bearer ${user}`, 'x-user': user, 'x-undeclared': user } })),
      ),
    );
    expect(toolset.calls).toHaveLength(50);
    for (const { args, headers } of toolset.calls) {
      expect(headers).toMatchObject({ authorization: `Bearer ${args.user}`, 'x-user': args.user });
      expect(headers).not.toHaveProperty('x-undeclared');
      expect(headers).not.toHaveProperty('x-mcp-agent-call');
    }
    for (const { rpc, headers } of toolset.requests)
      if (rpc !== 'tools/call') expect(headers).toMatchObject({ authorization: 'Bearer service', 'x-user': 'fallback' });
    await session.call(call());
    expect(toolset.calls.at(-1)?.headers).toMatchObject({ authorization: 'Bearer service', 'x-user': 'fallback' });
  });

  it('that is cancelled ends at the toolset within a second', async () => {
    let cancelled = false;
    const run = (_args: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise<string>((resolve) => {
        signal.addEventListener('abort', () => {
          cancelled = true;
          resolve('');
        });
      });
    const toolset = await startSdkToolset({ era, tools: [{ name: 'a', run }] });
    const session = watchedSession(toolset.url);
    await session.start();
    const abort = new AbortController();
    const outcome = codeOf(session.call(call('a', { signal: abort.signal })));
    await until(() => toolset.calls.length === 1);
    abort.abort();
    expect(await outcome).toBe('CALL_CANCELLED');
    await until(() => cancelled, { timeoutMs: 3_000, what: 'the tool to be cancelled' });
  });

  it('that times out, or is cancelled, keeps no socket', async () => {
    const toolset = await startRawToolset({ era, tools: TOOLS });
    toolset.on('tools/call', answers.hang);
    const session = watchedSession(toolset.url);
    await session.start();
    await session.listNow();
    const before = toolset.openSockets();
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => codeOf(session.call(call('a', { timeoutMs: 100 })))));
    expect(new Set(outcomes)).toEqual(new Set(['CALL_TIMEOUT']));
    await until(() => toolset.openSockets() <= before + 1, { timeoutMs: 8_000, what: 'the sockets of the calls to be closed' });
    expect(await codeOf(session.call(call('a', { signal: AbortSignal.timeout(50) })))).toBe('CALL_CANCELLED');
    await until(() => toolset.openSockets() <= before + 1, { timeoutMs: 8_000, what: 'the socket of the call to be closed' });
  });

  /** A tool that reports progress again and again until `ended` says so. */
  const reporting =
    (ended: (beganAt: number) => boolean) =>
    async (_args: unknown, { progress }: CallContext) => {
      const beganAt = performance.now();
      let step = 0;
      await until(
        async () => {
          await progress(++step);
          return ended(beganAt);
        },
        { timeoutMs: 20_000 },
      );
      return 'done';
    };

  it('waits longer while progress is reported', async () => {
    const run = reporting((beganAt) => performance.now() - beganAt > 1_000);
    const toolset = await startSdkToolset({ era, tools: [{ name: 'a', run }] });
    expect(await watchedSession(toolset.url).call(call('a', { timeoutMs: 500 }))).toMatchObject({ isError: false });
  });

  it('waits ten times its limit and no longer, however much progress is reported', async () => {
    let over = false;
    const toolset = await startSdkToolset({ era, tools: [{ name: 'a', run: reporting(() => over) }] });
    const session = watchedSession(toolset.url);
    await session.start();
    const beganAt = performance.now();
    expect(await codeOf(session.call(call('a', { timeoutMs: 150 })))).toBe('CALL_TIMEOUT');
    over = true;
    expect(performance.now() - beganAt).toBeGreaterThan(1_490);
  });

  it('hears list_changed on its own answer', async () => {
    const toolset = await startRawToolset({ era, tools: TOOLS });
    toolset.once('tools/call', async (exchange) => {
      const result = { resultType: 'complete', content: [{ type: 'text', text: 'ok' }] };
      await answers.sse([{ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }, answers.reply(result)])(exchange);
    });
    const session = watchedSession(toolset.url);
    await session.start();
    expect((await session.call(call())).content).toEqual([{ type: 'text', text: 'ok' }]);
    expect(session.signals).toEqual(['notification']);
  });

  it.each<[string, answers.Answer]>([
    ['a reset', answers.destroy],
    ['a reset in the middle of the answer', answers.destroyMidway()],
    ['an event stream that ends', answers.sse([': working\n\n'])],
    ['an event stream that is reset', answers.sse(['id: 1\ndata: \n\n'], { end: 'rst' })],
  ])('ended by %s has an unknown outcome at once, and is not repeated', async (_what, answer) => {
    const toolset = await startRawToolset({ era, tools: TOOLS });
    toolset.on('tools/call', answer);
    const session = watchedSession(toolset.url);
    await session.start();
    const started = performance.now();
    expect(await codeOf(session.call(call('a', { timeoutMs: 20_000 })))).toBe('CALL_OUTCOME_UNKNOWN');
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(toolset.counts()['tools/call']).toBe(1);
  });

  it('of a tool that is gone says so, and asks for a list', async () => {
    const toolset = await startRawToolset({ era, tools: [] });
    const session = watchedSession(toolset.url);
    await session.start();
    expect(await codeOf(session.call(call('gone')))).toBe('TOOL_GONE');
    expect(session.signals).toEqual(['notification']);
  });

  it("leaves the credentials of the call out of the tool's own JSON-RPC error text", async () => {
    const toolset = await startRawToolset({ era, tools: TOOLS });
    const session = watchedSession(toolset.url, {
      credentialHeaders: ['x-demo-token'],
      headers: { authorization: 'Bearer service-secret' },
    });
    await session.start();
    toolset.once('tools/call', answers.rpcError(-32000, 'refused user-secret, and service-secret too'));
    const failed = session.call({ ...call(), headers: { 'x-demo-token': 'user-secret' } });
    await expect(failed).rejects.toMatchObject({ said: 'refused [removed], and [removed] too' });
  });

  it("hands the model the tool's own JSON-RPC error text, but never a body", async () => {
    const toolset = await startRawToolset({ era, tools: TOOLS });
    const session = watchedSession(toolset.url);
    await session.start();
    toolset.once('tools/call', answers.rpcError(-32602, 'Argument q is missing'));
    await expect(session.call(call())).rejects.toThrow(/Argument q is missing/);
    toolset.once('tools/call', answers.respond({ headers: { 'content-type': 'text/html' }, body: '<!DOCTYPE csrf=SECRET' }));
    await expect(session.call(call())).rejects.toThrow(/^(?!.*SECRET)/);
    toolset.once('tools/call', answers.respond({ status: 500, body: 'SECRET stack' }));
    await expect(session.call(call())).rejects.toMatchObject({
      code: 'TOOLSET_SERVER_ERROR',
      message: expect.not.stringContaining('SECRET'),
    });
  });
});

describe('a tool call on a session that is lost', () => {
  it('is repeated once on the new one, because it was not run', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const session = watchedSession(toolset.url);
    await session.start();
    toolset.forgetSessions();
    expect(await session.call(call())).toMatchObject({ isError: false });
    expect(toolset.received).toHaveLength(1);
    expect(toolset.counts().initialize).toBe(2);
    await until(() => session.signals.includes('reconnect'), { what: 'the owner to be told' });
  });

  it('is not repeated when it may have been run, but the session is made anew', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const session = watchedSession(toolset.url);
    await session.start();
    toolset.once('tools/call', answers.rpcError(-32600, 'Session not found'));
    expect(await codeOf(session.call(call()))).toBe('SESSION_LOST');
    expect(toolset.counts()['tools/call']).toBe(1);
    await until(() => session.signals.includes('reconnect'));
    expect(await session.call(call())).toMatchObject({ isError: false });
  });

  it('is not repeated for ever', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const session = watchedSession(toolset.url);
    await session.start();
    toolset.on('tools/call', answers.rpcError(-32001, 'Session not found', { status: 404 }));
    expect(await codeOf(session.call(call()))).toBe('SESSION_LOST');
    expect(toolset.counts()['tools/call']).toBe(2);
    await stays(() => toolset.counts()['tools/call'] === 2, { durationMs: 200 });
  });
});

describe('a tool call without a connection', () => {
  it('makes one', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    expect(await watchedSession(toolset.url).call(call())).toMatchObject({ isError: false });
  });

  it('waits for one no longer than its limit', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    toolset.on('*', answers.hang);
    const session = watchedSession(toolset.url, { limits: { callWaitMs: 100 } });
    expect(await codeOf(session.call(call()))).toBe('TOOLSET_UNREACHABLE');
  });

  it('says at once that nothing answers', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    await toolset.close();
    expect(await codeOf(watchedSession(toolset.url).call(call()))).toBe('TOOLSET_UNREACHABLE');
  });

  it('is cancelled while it waits', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    toolset.on('*', answers.hang);
    const session = watchedSession(toolset.url);
    expect(await codeOf(session.call(call('a', { signal: AbortSignal.timeout(50) })))).toBe('CALL_CANCELLED');
    expect(await codeOf(session.call(call('a', { signal: AbortSignal.abort() })))).toBe('CALL_CANCELLED');
  });
});
