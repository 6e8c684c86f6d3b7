import { startFleet, tool } from '../flows/fleet.js';
import { type Answer, reply, respond, rpcError, rpcResult, sse } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { toolTurn } from './tool-turn.js';

const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };
const ERAS = ['legacy', 'modern'] as const;
const READABLE = { type: 'text', text: 'readable' };

async function answering(era: (typeof ERAS)[number], answer: Answer): Promise<{ toolset: RawToolset; result: string }> {
  const toolset = await startRawToolset({ era, tools: [tool('write', 'Writes')] });
  toolset.calls.set('write', () => answer);
  const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
  const { result, events } = await toolTurn(fleet, 'write');
  expect(events.at(-1)?.type).toBe('RUN_FINISHED');
  return { toolset, result };
}

describe.each(ERAS)('a tool of a %s toolset that ran, and whose result is odd', (era) => {
  const modern = { resultType: 'complete' };
  const results: readonly [what: string, result: Record<string, unknown>, shown: RegExp[]][] = [
    ['a block of an unknown type', { content: [READABLE, { type: 'hologram', data: 1 }] }, [/readable/, /"hologram".*cannot be read/]],
    ['a block that is null', { content: [null, READABLE] }, [/readable/, /cannot be read/]],
    ['a text that is a number', { content: [{ type: 'text', text: 5 }] }, [/^5$/]],
    ['a text that is an object', { content: [{ type: 'text', text: {} }, READABLE] }, [/readable/, /"text".*cannot be read/]],
    ['a link without a name', { content: [{ type: 'resource_link', uri: 'file:///a' }] }, [/\[link\] file:\/\/\/a/]],
    ['content that is a string', { content: 'x' }, [/^x$/]],
    ['content that is one block', { content: READABLE }, [/^readable$/]],
    ['content that is null', { content: null, structuredContent: { a: 1 } }, [/^\{"a":1\}$/]],
    ['no content', { structuredContent: [1, 2] }, [/^\[1,2\]$/]],
    ['annotations and flags that are null', { content: [{ ...READABLE, annotations: null }], isError: null, _meta: null }, [/^readable$/]],
    [
      'an image that is no base64',
      { content: [{ type: 'image', data: '!', mimeType: 'image/png' }, READABLE] },
      [/"image".*cannot be read/],
    ],
  ];
  test.each(results)('B48, variant: by %s, is not told to be at fault, and what can be read is', async (_what, result, shown) => {
    const { result: text, toolset } = await answering(era, rpcResult({ ...modern, ...result }));
    for (const part of shown) expect(text).toMatch(part);
    expect(text).not.toMatch(/refused|arguments/);
    expect(toolset.received).toHaveLength(1);
  });

  const unusable: readonly [what: string, answer: Answer][] = [
    ['too large', rpcResult({ ...modern, content: [{ type: 'text', text: 'x'.repeat(20 * 1024 * 1024) }] })],
    ['null', rpcResult(null)],
    ['an HTML page', respond({ headers: { 'content-type': 'text/html' }, body: '<h1>Sign in</h1>' })],
    ['broken JSON', respond({ headers: { 'content-type': 'application/json' }, body: '{"jsonrpc":"2.0",' })],
  ];
  test.each(unusable)(
    'B48, variant: by being %s, has probably run: the model is told so, and not to call it again',
    async (_what, answer) => {
      const { result, toolset } = await answering(era, answer);
      expect(result).toMatch(/^Error: .*has probably run, so do not call it again/);
      expect(toolset.received).toHaveLength(1);
    },
  );
});

describe('a tool call that is refused', () => {
  const lost: readonly [string, Answer][] = [
    ['410 "gone"', rpcError(-32001, 'gone', { status: 410 })],
    ['410 without a body', respond({ status: 410 })],
    ['404 "gone" with -32001', rpcError(-32001, 'gone', { status: 404 })],
    ['400 without a reason', respond({ status: 400 })],
    ['405', respond({ status: 405 })],
    ['401 "Session expired"', rpcError(-32001, 'Session expired', { status: 401 })],
    ['400 with -32022', rpcError(-32022, 'Unsupported protocol version', { status: 400 })],
  ];
  test.each(lost)('B43, variant: by %s because the session is lost is made once more on a new session', async (_what, answer) => {
    const toolset = await startRawToolset({ tools: [tool('write', 'Writes')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const dead = [...toolset.sessions].join();
    toolset.on('*', (exchange) => {
      if (exchange.request.headers['mcp-session-id'] === dead) return answer(exchange);
      return exchange.prepare().then((send) => send());
    });
    expect((await toolTurn(fleet, 'write')).result).toBe('{}');
    expect(toolset.received).toHaveLength(1);
    expect(toolset.counts()).toMatchObject({ initialize: 2, 'tools/call': 2 });
  });

  const about: readonly [string, Answer][] = [
    ['400 without a reason', respond({ status: 400 })],
    ['405', respond({ status: 405 })],
    ['200 with -32600', rpcError(-32600, 'Invalid Request')],
    ['200 with -32001 "Request timed out"', rpcError(-32001, 'Request timed out')],
    ['200 with -32602', rpcError(-32602, 'Invalid arguments')],
  ];
  test.each(about)('B43, variant: by %s while the session is fine costs no new session and is not made again', async (_what, answer) => {
    const toolset = await startRawToolset({ tools: [tool('write', 'Writes')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    toolset.on('tools/call', answer);
    expect((await toolTurn(fleet, 'write')).result).toMatch(/^Error: /);
    expect(toolset.counts()).toMatchObject({ initialize: 1, 'tools/call': 1 });
  });
});

describe('a reply on a stream that the server closes before it is there', () => {
  test('is fetched by the number of the last event, after the time that the server asked for, and nothing runs twice', async () => {
    const toolset = await startRawToolset({ tools: [tool('write', 'Writes')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    let closedAt = 0;
    let resumedAt = 0;
    toolset.calls.set('write', () => async (exchange) => {
      await sse(['id: 7-1\nretry: 300\ndata: \n\n'])(exchange);
      closedAt = performance.now();
      toolset.once('GET', async (resumed) => {
        resumedAt = performance.now();
        expect(resumed.request.headers['last-event-id']).toBe('7-1');
        await sse([{ jsonrpc: '2.0', id: exchange.id, result: { content: [READABLE] } }])(resumed);
      });
    });
    expect((await toolTurn(fleet, 'write')).result).toBe('readable');
    expect(resumedAt - closedAt).toBeGreaterThan(250);
    expect(toolset.received).toHaveLength(1);
  });

  test('and cannot be resumed has an unknown outcome', async () => {
    const { toolset } = await answering('legacy', sse([reply({ content: [READABLE] })]));
    toolset.calls.set('write', () => sse(['id: 7-1\nretry: 100\ndata: \n\n']));
    toolset.on('GET', respond({ status: 405 }));
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    expect((await toolTurn(fleet, 'write')).result).toMatch(/outcome is unknown/);
  });
});
