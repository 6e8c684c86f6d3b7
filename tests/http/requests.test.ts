import { runTurn } from '../support/run-client.js';
import { startAgentHost } from './agent-host.js';

const user = { id: 'm1', role: 'user', content: 'hi' };

function post(url: string, body: unknown, headers: Record<string, string> = { 'content-type': 'application/json' }): Promise<Response> {
  return fetch(`${url}/runs`, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) });
}

test.each([
  ['no thread id', { runId: 'r', messages: [user] }, 422, 'invalid_request'],
  ['no run id', { threadId: 't', messages: [user] }, 422, 'invalid_request'],
  ['an empty thread id', { threadId: '', runId: 'r', messages: [user] }, 422, 'invalid_request'],
  ['a thread id that objects cannot hold', { threadId: '__proto__', runId: 'r', messages: [user] }, 422, 'invalid_request'],
  ['a thread id with a line break', { threadId: 'a\nb', runId: 'r', messages: [user] }, 422, 'invalid_request'],
  ['a thread id that is too long', { threadId: 'x'.repeat(257), runId: 'r', messages: [user] }, 422, 'invalid_request'],
  ['no messages', { threadId: 't', runId: 'r' }, 422, 'invalid_request'],
  ['no user message', { threadId: 't', runId: 'r', messages: [{ id: 'a', role: 'assistant', content: 'x' }] }, 422, 'no_user_message'],
  ['a user message without id', { threadId: 't', runId: 'r', messages: [{ role: 'user', content: 'x' }] }, 422, 'invalid_request'],
  ['a user message without text', { threadId: 't', runId: 'r', messages: [{ id: 'a', role: 'user', content: ' ' }] }, 422, 'no_user_text'],
  [
    'a user message with an image only',
    { threadId: 't', runId: 'r', messages: [{ id: 'a', role: 'user', content: [{ type: 'image' }] }] },
    422,
    'no_user_text',
  ],
  ['a list', [], 422, 'invalid_request'],
  ['no object', 'null', 422, 'invalid_request'],
  ['broken JSON', '{"threadId": sk-secret', 400, 'malformed_json'],
  [
    'more than 10 MiB',
    JSON.stringify({ threadId: 't', runId: 'r', messages: [{ ...user, content: 'x'.repeat(10 * 1024 * 1024) }] }),
    413,
    'body_too_large',
  ],
])('a body with %s is refused before anything runs', async (_what, body, status, code) => {
  const host = await startAgentHost();
  const response = await post(host.url, body);
  const problem = await response.text();
  expect(response.status).toBe(status);
  expect(JSON.parse(problem)).toMatchObject({ code, detail: expect.anything() });
  expect(problem).not.toContain('sk-secret');
  expect(host.model.requests).toHaveLength(0);
});

test('a body that is not JSON by its type is refused with 415', async () => {
  const host = await startAgentHost();
  const body = { threadId: 't', runId: 'r', messages: [user] };
  expect((await post(host.url, body, { 'content-type': 'text/plain' })).status).toBe(415);
  expect((await post(host.url, body, { 'content-type': 'application/json; charset=latin1' })).status).toBe(415);
  expect((await fetch(`${host.url}/runs`, { method: 'POST' })).status).toBe(415);
});

test('a body of exactly 10 MiB is accepted', async () => {
  const host = await startAgentHost();
  const body = (filler: string) =>
    JSON.stringify({ threadId: 't', runId: 'r', messages: [{ id: 'm0', role: 'assistant', content: filler }, user] });
  const text = body('x'.repeat(10 * 1024 * 1024 - body('').length));
  expect(Buffer.byteLength(text)).toBe(10 * 1024 * 1024);
  expect(await (await post(host.url, text)).text()).toContain('RUN_FINISHED');
});

test('a history of several megabytes is accepted', async () => {
  const host = await startAgentHost();
  const old = { id: 'm0', role: 'assistant', content: 'x'.repeat(5 * 1024 * 1024) };
  const response = await post(host.url, { threadId: 't', runId: 'r', messages: [old, user] });
  expect(await response.text()).toContain('RUN_FINISHED');
});

test('before the first generation runs, connections, threads and readiness answer 503, and liveness 200', async () => {
  const host = await startAgentHost({ empty: true });
  expect(await runTurn(host.url, { text: 'hi' })).toMatchObject({ status: 503, problem: { code: 'not_ready' } });
  for (const path of ['/connections', '/threads/t1', '/health/readiness']) expect((await fetch(host.url + path)).status).toBe(503);
  expect((await fetch(`${host.url}/health/liveness`)).status).toBe(200);
  await host.swap();
  expect((await runTurn(host.url, { text: 'hi' })).text).toBe('ok');
});

test('readiness tells which toolsets are failing and stays 200', async () => {
  const host = await startAgentHost();
  const readiness = async () => {
    const response = await fetch(`${host.url}/health/readiness`);
    return [response.status, await response.json()];
  };
  expect(await readiness()).toEqual([200, { status: 'ready' }]);
  host.refreshing.failing = ['kb'];
  expect(await readiness()).toEqual([200, { status: 'degraded', failing: ['kb'] }]);
});
