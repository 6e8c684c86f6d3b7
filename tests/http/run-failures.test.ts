import { OpenRuns } from '../../src/http/open-runs.js';
import { systemClock } from '../../src/system-clock.js';
import { gate } from '../support/gate.js';
import { ManualClock } from '../support/manual-clock.js';
import { beginTurn, runTurn, runVerifiedTurn } from '../support/run-client.js';
import { until } from '../support/until.js';
import { startAgentHost } from './agent-host.js';

const last = (events: readonly { type: string; [field: string]: unknown }[]) => events.at(-1);

test('a model that refuses ends the run with model_failed, and nothing that the provider said is repeated (B114)', async () => {
  const logged: unknown[] = [];
  const log = (message: string, fields?: unknown) => void logged.push([message, fields]);
  const host = await startAgentHost({ router: { logger: { debug: log, info: log, warn: log, error: log } } });
  host.model.reply(() => ({ status: 401, body: { error: { message: 'Incorrect API key sk-secret-key' } } }));
  const turn = await runVerifiedTurn(host.url, { text: 'hi' });
  expect(turn.events.map(({ type }) => type)).toEqual(['RUN_STARTED', 'RUN_ERROR']);
  expect(last(turn.events)).toMatchObject({ code: 'model_failed' });
  expect(JSON.stringify([turn.events, logged])).not.toMatch(/sk-secret|Incorrect| at /);
  expect(logged).toContainEqual(['run failed', expect.objectContaining({ code: 'model_failed', status: 401, generation: 1 })]);
});

test('a model that breaks off in the middle of a text ends the run with an error, and the text is closed before it (B114)', async () => {
  const host = await startAgentHost();
  host.model.reply(() => ({ text: 'one two three four', stopAfter: { tokens: 2, how: 'cut' } }));
  const turn = await runVerifiedTurn(host.url, { text: 'hi', threadId: 't1' });
  const types = turn.events.map(({ type }) => type);
  expect(types.slice(-2)).toEqual(['TEXT_MESSAGE_END', 'RUN_ERROR']);
  expect(last(turn.events)).toMatchObject({ code: 'model_failed' });
  host.model.reply(() => ({ text: 'better now' }));
  expect((await runVerifiedTurn(host.url, { text: 'again', threadId: 't1' })).text).toBe('better now');
});

test('a model that never stops calling tools is stopped by the recursion limit, and the thread stays usable (B114)', async () => {
  const host = await startAgentHost({ model: { strict: true }, toolsets: [{ name: 'kb', tools: [{ name: 'again' }] }] });
  host.model.reply(() => ({ toolCalls: [{ name: 'again', args: {} }] }));
  const turn = await runVerifiedTurn(host.url, { text: 'hi', threadId: 't1' });
  expect(last(turn.events)).toMatchObject({ type: 'RUN_ERROR', code: 'recursion_limit' });
  expect(host.model.requests.length).toBeGreaterThan(40);
  host.model.reply(() => ({ text: 'enough' }));
  expect((await runVerifiedTurn(host.url, { text: 'stop', threadId: 't1' })).text).toBe('enough');
});

test('a client that leaves cancels its tool call, its lease is released, and the thread goes on (7.5)', async () => {
  let cancelled = false;
  const slow = {
    name: 'slow',
    run: (_args: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise<string>(() => {
        signal.addEventListener('abort', () => {
          cancelled = true;
        });
      }),
  };
  const quick = { name: 'quick', run: () => 'quick answer' };
  const host = await startAgentHost({ model: { strict: true }, toolsets: [{ name: 'kb', tools: [slow, quick] }] });
  host.model.reply(() => ({
    toolCalls: [
      { name: 'quick', args: {} },
      { name: 'slow', args: {} },
    ],
  }));
  const running = await beginTurn(host.url, { text: 'go', threadId: 't1' });
  await until(() => running.events.some(({ type }) => type === 'TOOL_CALL_RESULT') && host.tooling.toolsets[0]?.calls.length === 2);
  await host.swap();
  running.leave();
  await until(() => cancelled && host.released.length === 1, { timeoutMs: 3000 });
  host.model.reply(() => ({ text: 'back' }));
  const turn = await runVerifiedTurn(host.url, { text: 'still there?', threadId: 't1' });
  expect(turn.text).toBe('back');
  const results = host.model.requests
    .at(-1)
    ?.body.messages.filter(({ role }) => role === 'tool')
    .map(({ content }) => content);
  expect(results).toEqual(['quick answer', expect.stringContaining('interrupted')]);
});

test('a client that leaves while the model answers ends the request to the model', async () => {
  const host = await startAgentHost();
  host.model.reply(() => ({ text: 'one two three', stopAfter: { tokens: 2, how: 'hang' } }));
  const running = await beginTurn(host.url, { text: 'go' });
  await until(() => running.text() === 'one two');
  running.leave();
  await until(() => host.model.requests[0]?.aborted, { timeoutMs: 3000 });
});

test('a second run on a busy thread is refused; one on a thread whose run is being cancelled waits for it (7.4)', async () => {
  const host = await startAgentHost();
  host.model.reply(({ number }) => (number === 0 ? { text: 'a b c', stopAfter: { tokens: 1, how: 'hang' } } : { text: 'next' }));
  const first = await beginTurn(host.url, { text: 'one', threadId: 't1' });
  await until(() => first.text() === 'a');
  const busy = await runTurn(host.url, { text: 'two', threadId: 't1' });
  expect(busy).toMatchObject({ status: 409, problem: { detail: { reason: 'run_in_progress' }, code: 'run_in_progress' } });
  expect((await runTurn(host.url, { text: 'two', threadId: 't2' })).text).toBe('next');
  first.leave();
  const waited = await until(async () => {
    const turn = await runTurn(host.url, { text: 'three', threadId: 't1' });
    return turn.status === 200 ? turn : undefined;
  });
  expect(waited?.text).toBe('next');
});

test('a run that takes too long ends with run_timeout', async () => {
  const host = await startAgentHost({ router: { limits: { runSeconds: 0.2 } } });
  host.model.reply(() => ({ hang: true }));
  const turn = await runVerifiedTurn(host.url, { text: 'hi' });
  expect(last(turn.events)).toMatchObject({ type: 'RUN_ERROR', code: 'run_timeout' });
  await until(() => host.model.requests[0]?.aborted);
});

test('more runs than allowed are refused with Retry-After, and a free place is taken again (7.10)', async () => {
  const host = await startAgentHost({ router: { limits: { maxRuns: 1 } } });
  host.model.reply(() => ({ hang: true }));
  const first = await beginTurn(host.url, { text: 'one' });
  const refused = await runTurn(host.url, { text: 'two' });
  expect(refused).toMatchObject({ status: 503, problem: { code: 'too_many_runs' } });
  expect(refused.headers.get('retry-after')).toBe('1');
  first.leave();
  host.model.reply(() => ({ text: 'free' }));
  await until(async () => (await runTurn(host.url, { text: 'three' })).text === 'free');
});

test('a service that stops lets runs end, then ends the rest with shutting_down (11.3)', async () => {
  const openRuns = new OpenRuns({ clock: systemClock });
  const slowly = gate();
  const host = await startAgentHost({ router: { openRuns } });
  host.model.reply(({ number }) => (number === 0 ? { gate: slowly, text: 'just in time' } : { hang: true }));
  const quick = await beginTurn(host.url, { text: 'one' });
  await until(() => slowly.waiting() === 1);
  const stuck = await beginTurn(host.url, { text: 'two' });
  await until(() => host.model.requests.length === 2);
  openRuns.beginDrain();
  expect((await fetch(`${host.url}/health/readiness`)).status).toBe(503);
  expect(await runTurn(host.url, { text: 'three' })).toMatchObject({ status: 503, problem: { code: 'shutting_down' } });
  const idle = openRuns.idle(500);
  slowly.open();
  expect(last((await quick.done).events)?.type).toBe('RUN_FINISHED');
  expect(last((await stuck.done).events)).toMatchObject({ type: 'RUN_ERROR', code: 'shutting_down' });
  await idle;
  expect(openRuns.size).toBe(0);
});

test('a comment every 15 seconds keeps the stream open, and nothing on the way may buffer it (7.9)', async () => {
  const clock = new ManualClock();
  const thinking = gate();
  const host = await startAgentHost({ router: { clock } });
  host.model.reply(() => ({ gate: thinking, text: 'ok' }));
  const running = await beginTurn(host.url, { text: 'hi' });
  await until(() => thinking.waiting() === 1);
  await clock.advance(14_999);
  await clock.advance(1);
  await clock.advance(15_000);
  thinking.open();
  const turn = await running.done;
  expect(turn.comments).toEqual(['keep-alive', 'keep-alive']);
  expect(turn.headers.get('content-type')).toBe('text/event-stream');
  expect(turn.headers.get('x-accel-buffering')).toBe('no');
  expect(turn.headers.get('cache-control')).toContain('no-transform');
});

test('a store that fails, while a thread is read or written, ends the run with run_failed and frees the thread (B114)', async () => {
  const host = await startAgentHost();
  const fail = async () => {
    throw new Error('disk of postgres://user:secret@db is full');
  };
  for (const method of ['getTuple', 'put'] as const) {
    Object.assign(host.saver, { [method]: fail });
    const turn = await runVerifiedTurn(host.url, { text: 'hi', threadId: 't1' });
    expect(last(turn.events)).toMatchObject({ type: 'RUN_ERROR', code: 'run_failed' });
    expect(JSON.stringify(turn.events)).not.toContain('secret');
    Reflect.deleteProperty(host.saver, method);
  }
  expect((await runVerifiedTurn(host.url, { text: 'hi', threadId: 't1' })).text).toBe('ok');
});
