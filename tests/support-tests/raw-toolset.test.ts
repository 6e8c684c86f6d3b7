import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { onCleanup } from '../support/cleanup.js';
import { gate } from '../support/gate.js';
import {
  destroy,
  destroyMidway,
  hang,
  hangAfterHeaders,
  held,
  pass,
  reply,
  respond,
  rpcError,
  rpcResult,
  sse,
  trickle,
} from '../support/raw-answers.js';
import type { RawEra } from '../support/raw-state.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { stays, until } from '../support/until.js';

const TOOLS = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, inputSchema: { type: 'object', properties: {} } }));
const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });

async function connect(url: string): Promise<{ client: Client; changes: string[] }> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' }, enforceStrictCapabilities: true });
  const changes: string[] = [];
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    changes.push('tools');
  });
  onCleanup(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return { client, changes };
}

async function namesOf(client: Client): Promise<string[]> {
  const { tools } = await client.listTools(undefined, { cacheMode: 'bypass' });
  return tools.map((tool) => tool.name);
}

/** Posts a list request without any SDK; a stateless toolset answers it. */
function post(url: string, signal?: AbortSignal): Promise<Response> {
  return fetch(url, { method: 'POST', body: LIST, headers: { 'content-type': 'application/json' }, signal });
}

describe.each<RawEra>(['legacy', 'stateless', 'modern', 'both'])('a raw toolset, %s, is understood by the SDK client', (era) => {
  const modern = era === 'modern' || era === 'both';

  test('lists pages, calls tools and reads views', async () => {
    const toolset = await startRawToolset({
      era,
      tools: TOOLS,
      pageSize: 2,
      instructions: 'Hello.',
      resources: [{ uri: 'ui://x/y', text: '<p>' }],
    });
    toolset.calls.set('b', () => ({ content: [{ type: 'text', text: 'from b' }] }));
    const { client } = await connect(toolset.url);
    expect(await namesOf(client)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(toolset.counts()['tools/list']).toBe(3);
    expect(client.getInstructions()).toBe('Hello.');
    expect((await client.callTool({ name: 'a', arguments: { x: 1 } })).content).toEqual([{ type: 'text', text: '{"x":1}' }]);
    expect((await client.callTool({ name: 'b' })).content).toEqual([{ type: 'text', text: 'from b' }]);
    expect((await client.readResource({ uri: 'ui://x/y' })).contents).toEqual([{ uri: 'ui://x/y', text: '<p>' }]);
    expect(client.getProtocolEra()).toBe(modern ? 'modern' : 'legacy');
    toolset.listAs = 'sse';
    expect(await namesOf(client)).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('pushes on open streams, and ends them', async () => {
    const toolset = await startRawToolset({ era, tools: TOOLS });
    const { client, changes } = await connect(toolset.url);
    if (era === 'stateless') {
      await until(() => toolset.counts().GET === 1);
      expect(toolset.streams.size).toBe(0);
      return;
    }
    const subscription = modern ? await client.listen({ toolsListChanged: true }) : undefined;
    await until(() => toolset.streams.size === 1);
    toolset.push();
    await until(() => changes.length === 1);
    if (subscription === undefined) toolset.cutStreams('rst');
    else {
      toolset.cutStreams('graceful');
      await expect(subscription.closed).resolves.toBe('graceful');
    }
    await until(() => toolset.streams.size === 0);
  });
});

describe('sessions of a raw toolset', () => {
  test('are forgotten, and then answer 404', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const { client } = await connect(toolset.url);
    expect(toolset.sessions.size).toBe(1);
    toolset.forgetSessions();
    await expect(namesOf(client)).rejects.toMatchObject({ status: 404 });
  });

  test('end with DELETE', async () => {
    const toolset = await startRawToolset({ tools: TOOLS });
    const { client } = await connect(toolset.url);
    await (client.transport as StreamableHTTPClientTransport).terminateSession();
    expect(toolset.sessions.size).toBe(0);
  });

  test('insist on the negotiated version where that is asked for', async () => {
    const toolset = await startRawToolset({ tools: TOOLS, protocolVersion: '2025-06-18', strictVersion: true });
    const { client } = await connect(toolset.url);
    expect(await namesOf(client)).toHaveLength(5);
    toolset.protocolVersion = '2025-03-26';
    await expect(namesOf(client)).rejects.toMatchObject({ status: 400 });
  });
});

describe('a scripted answer', () => {
  test('counts for the next requests in the order given, then the normal answer returns', async () => {
    const toolset = await startRawToolset({ era: 'stateless', tools: TOOLS });
    toolset.once('tools/list', respond({ status: 500, headers: { 'retry-after': '3' } }), rpcError(-32603, 'broken'));
    const first = await post(toolset.url);
    expect([first.status, first.headers.get('retry-after')]).toEqual([500, '3']);
    expect(await (await post(toolset.url)).json()).toEqual({ jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'broken' } });
    expect(await (await post(toolset.url)).json()).toMatchObject({ result: { tools: TOOLS } });
  });

  test('counts until it is removed; a limited one goes before it', async () => {
    const toolset = await startRawToolset({ era: 'stateless', tools: TOOLS });
    const remove = toolset.on('tools/list', respond({ status: 503 }));
    toolset.on('tools/list', pass, { times: 1 });
    expect((await post(toolset.url)).status).toBe(200);
    expect((await post(toolset.url)).status).toBe(503);
    expect((await post(toolset.url)).status).toBe(503);
    remove();
    expect((await post(toolset.url)).status).toBe(200);
    expect(toolset.counts()['tools/list']).toBe(4);
  });

  test('waits for a gate with the answer as it was when the request came', async () => {
    const toolset = await startRawToolset({ era: 'stateless', tools: TOOLS.slice(0, 1) });
    const barrier = gate();
    toolset.once('tools/list', held(barrier));
    const answer = post(toolset.url);
    await until(() => barrier.waiting() === 1);
    toolset.tools = TOOLS;
    barrier.open();
    expect(await (await answer).json()).toMatchObject({ result: { tools: [{ name: 'a' }] } });
  });

  test('may be any result, with any id', async () => {
    const toolset = await startRawToolset({ era: 'stateless' });
    toolset.once('tools/list', rpcResult({ tools: null }, { id: 'other' }));
    expect(await (await post(toolset.url)).json()).toEqual({ jsonrpc: '2.0', id: 'other', result: { tools: null } });
  });

  test('may be an SSE body in chunks of any size', async () => {
    const toolset = await startRawToolset({ era: 'stateless' });
    toolset.once('tools/list', sse([': hello\n\n', reply({ tools: [], note: '读取 — ✅' })], { chunkBytes: 1 }));
    const chunks: Uint8Array[] = [];
    for await (const chunk of (await post(toolset.url)).body ?? []) chunks.push(chunk);
    expect(chunks.length).toBeGreaterThan(10);
    const text = Buffer.concat(chunks).toString('utf8');
    expect(text).toBe(`: hello\n\nevent: message\ndata: {"jsonrpc":"2.0","id":1,"result":{"tools":[],"note":"读取 — ✅"}}\n\n`);
  });

  test('may reset the connection before, in the middle, or after events', async () => {
    const toolset = await startRawToolset({ era: 'stateless' });
    toolset.once('tools/list', destroy, destroyMidway(), sse([': only this\n\n'], { end: 'rst' }));
    await expect(post(toolset.url)).rejects.toThrow('fetch failed');
    for (let request = 0; request < 2; request++) {
      const answer = await post(toolset.url);
      expect(answer.status).toBe(200);
      await expect(answer.text()).rejects.toThrow('terminated');
    }
  });

  test('may hang without headers, after headers, or with a byte now and then', async () => {
    const toolset = await startRawToolset({ era: 'stateless' });
    toolset.once('tools/list', hang, hangAfterHeaders(), trickle('{', { everyMs: 10 }));
    await expect(post(toolset.url, AbortSignal.timeout(100))).rejects.toThrow('timeout');
    const leaving = new AbortController();
    const silent = await post(toolset.url, leaving.signal);
    setTimeout(() => leaving.abort(), 50);
    await expect(silent.text()).rejects.toThrow('aborted');
    const slow = await post(toolset.url);
    let bytes = 0;
    for await (const chunk of slow.body ?? []) {
      bytes += chunk.length;
      if (bytes > 3) break;
    }
    expect(bytes).toBeGreaterThan(3);
  });
});

test('a raw toolset refuses GET and answers `initialized` as it is told to', async () => {
  const toolset = await startRawToolset({ tools: TOOLS, initializedStatus: 200 });
  await connect(toolset.url);
  expect(toolset.counts().GET).toBe(0);
  toolset.initializedStatus = 202;
  toolset.getStatus = 406;
  const { client } = await connect(toolset.url);
  await until(() => toolset.counts().GET === 1);
  expect(toolset.streams.size).toBe(0);
  expect(await namesOf(client)).toHaveLength(5);
});

test('a raw toolset can hold the headers of a stream back until its first byte', async () => {
  const toolset = await startRawToolset({ streamHeaders: 'with the first byte' });
  toolset.sessions.add('known');
  let answered = false;
  const stream = fetch(toolset.url, { headers: { 'mcp-session-id': 'known' } }).then((response) => {
    answered = true;
    return response.status;
  });
  await until(() => toolset.streams.size === 1);
  await stays(() => !answered, { durationMs: 50 });
  toolset.push();
  expect(await stream).toBe(200);
});

test('a raw toolset sends keep-alive comments on its streams', async () => {
  const toolset = await startRawToolset({ keepAliveMs: 5 });
  toolset.sessions.add('known');
  const stream = await fetch(toolset.url, { headers: { 'mcp-session-id': 'known', accept: 'text/event-stream' } });
  let text = '';
  for await (const chunk of stream.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.length > 40) break;
  }
  expect(text).toMatch(/^(: keepalive\n\n)+/);
});
