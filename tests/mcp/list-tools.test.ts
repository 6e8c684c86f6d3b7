import { gate } from '../support/gate.js';
import * as answers from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { until } from '../support/until.js';
import { codeOf, watchedSession } from './session-fixture.js';

const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: 'object', properties: {} }, ...more });

const page = (tools: unknown, more: object = {}) => answers.rpcResult({ tools, ...more });

async function connected(settings: Parameters<typeof startRawToolset>[0] = {}, limits = {}) {
  const toolset = await startRawToolset({ tools: [tool('a'), tool('b'), tool('c')], ...settings });
  const session = watchedSession(toolset.url, { limits });
  await session.start();
  return { toolset, session };
}

/** The cursors of all list requests so far, in order. */
function cursorsOf(toolset: RawToolset): unknown[] {
  return toolset.requests
    .filter(({ rpc }) => rpc === 'tools/list')
    .map(({ body }) => (body as { params?: { cursor?: unknown } }).params?.cursor);
}

describe.each(['legacy', 'stateless', 'modern'] as const)('a list of a %s toolset', (era) => {
  it.each(['json', 'sse'] as const)('is the same whole list on any number of pages (%s)', async (listAs) => {
    const { toolset, session } = await connected({ era, listAs, tools: Array.from({ length: 30 }, (_, index) => tool(`t${index}`)) });
    const whole = await session.listNow();
    expect(whole.tools).toHaveLength(30);
    for (const pageSize of [10, 1]) {
      toolset.pageSize = pageSize;
      expect((await session.listNow()).tools).toEqual(whole.tools);
    }
  });

  it('keeps every entry as the raw JSON that it was, also what the SDK would refuse', async () => {
    const tools = [
      tool('good', { execution: { x: 1 } }),
      { name: 'bare' },
      tool('odd', { description: null, outputSchema: { $ref: '#/nope' } }),
    ];
    const { session } = await connected({ era, tools });
    expect((await session.listNow()).tools).toEqual(tools);
  });
});

describe('the walk over the pages', () => {
  it('hands cursors back verbatim', async () => {
    const { toolset, session } = await connected();
    const cursors = ['eyJvIjoxfQ==', 'with spaces and ünïcode', 'x'.repeat(4_096)];
    toolset.once('tools/list', ...cursors.map((nextCursor, index) => page([tool(`t${index}`)], { nextCursor })), page([tool('last')]));
    expect(await session.names()).toEqual(['t0', 't1', 't2', 'last']);
    expect(cursorsOf(toolset)).toEqual([undefined, ...cursors]);
  });

  it('takes a null cursor for the end, as many servers write it', async () => {
    const { toolset, session } = await connected();
    toolset.once('tools/list', page([tool('only')], { nextCursor: null }));
    expect(await session.names()).toEqual(['only']);
  });

  /** A server for which an empty cursor is the same as none. */
  const withEmptyCursors = (first: answers.Answer, byCursor: Readonly<Record<string, answers.Answer>> = {}): answers.Answer => {
    return (exchange) => (byCursor[String(exchange.params.cursor || 'none')] ?? first)(exchange);
  };

  it('takes an empty cursor for the end where it brings the first page again: the server writes it for none', async () => {
    const { toolset, session } = await connected();
    toolset.on('tools/list', withEmptyCursors(page([tool('only')], { nextCursor: '' })));
    expect(await session.names()).toEqual(['only']);
    expect(cursorsOf(toolset)).toEqual([undefined, '']);
    toolset.on('tools/list', withEmptyCursors(page([tool('a')], { nextCursor: '2' }), { 2: page([tool('b')], { nextCursor: '' }) }));
    expect(await session.names()).toEqual(['a', 'b']);
    const many = Array.from({ length: 3_000 }, (_, index) => tool(`t${index}`));
    toolset.on('tools/list', withEmptyCursors(page(many, { nextCursor: '' })));
    expect(await session.names()).toHaveLength(3_000);
    toolset.on('tools/list', withEmptyCursors(page([], { nextCursor: '' })));
    expect(await session.names()).toEqual([]);
  });

  it('follows an empty cursor that leads to a page of its own', async () => {
    const { toolset, session } = await connected();
    toolset.once('tools/list', page([tool('a')], { nextCursor: '' }), page([tool('b')], { nextCursor: '3' }), page([tool('c')]));
    expect(await session.names()).toEqual(['a', 'b', 'c']);
    expect(cursorsOf(toolset)).toEqual([undefined, '', '3']);
  });

  it.each([
    ['it brings another first page than before', page([tool('b')], { nextCursor: '' }), 'LIST_INCOMPLETE'],
    ['it brings the tools of the first page with another cursor', page([tool('a')], { nextCursor: '2' }), 'LIST_INCOMPLETE'],
    ['the server refuses the cursor that it gave', answers.rpcError(-32602, 'Invalid cursor'), 'TOOLSET_PROTOCOL_ERROR'],
  ])('fails after an empty cursor when %s', async (_case, second, code) => {
    const { toolset, session } = await connected();
    toolset.once('tools/list', page([tool('a')], { nextCursor: '' }), second);
    expect(await codeOf(session.listNow())).toBe(code);
  });

  it('begins at the first page again after a failure on a later one', async () => {
    const { toolset, session } = await connected();
    toolset.once('tools/list', page([tool('a')], { nextCursor: '2' }), answers.respond({ status: 500 }));
    expect(await codeOf(session.listNow())).toBe('TOOLSET_SERVER_ERROR');
    expect(await session.names()).toEqual(['a', 'b', 'c']);
    expect(cursorsOf(toolset)).toEqual([undefined, '2', undefined]);
  });

  it.each<[string, answers.Answer[], string]>([
    ['a 500', [answers.respond({ status: 500 })], 'TOOLSET_SERVER_ERROR'],
    ['an invalid cursor', [answers.rpcError(-32602, 'Invalid cursor')], 'TOOLSET_PROTOCOL_ERROR'],
    ['a reset', [answers.destroy], 'TOOLSET_UNREACHABLE'],
    ['a reset in the middle', [answers.destroyMidway()], 'TOOLSET_UNREACHABLE'],
    ['the same cursor again', [page([tool('x')], { nextCursor: '2' })], 'LIST_INCOMPLETE'],
    ['the same page with another cursor', [page([tool('a')], { nextCursor: '3' })], 'LIST_INCOMPLETE'],
    ['the same page as the last one', [page([tool('a')])], 'LIST_INCOMPLETE'],
    ['no tools', [page(null)], 'LIST_MALFORMED'],
  ])('fails as a whole when the second page is %s', async (_what, second, code) => {
    const { toolset, session } = await connected();
    toolset.once('tools/list', page([tool('a')], { nextCursor: '2' }), ...second);
    expect(await codeOf(session.listNow())).toBe(code);
    expect(await session.names()).toEqual(['a', 'b', 'c']);
  });

  it('gives up a list that never ends', async () => {
    const { toolset, session } = await connected();
    let number = 0;
    toolset.on('tools/list', (exchange) => {
      number += 1;
      return page([tool(`t${number}`)], { nextCursor: String(number) })(exchange);
    });
    expect(await codeOf(session.listNow())).toBe('LIST_TOO_LARGE');
    expect(number).toBe(200);
  });
});

describe('an answer that is no list', () => {
  it.each<[string, answers.Answer, string]>([
    ['tools: null', page(null), 'LIST_MALFORMED'],
    ['no tools field', answers.rpcResult({}), 'LIST_MALFORMED'],
    ['tools as an object', page({}), 'LIST_MALFORMED'],
    ['a null entry', page([null]), 'LIST_MALFORMED'],
    ['an entry without a name', page([tool('a'), {}]), 'LIST_MALFORMED'],
    ['a cursor that is a number', page([tool('a')], { nextCursor: 7 }), 'LIST_MALFORMED'],
    ['more than 5 000 tools', page(Array.from({ length: 5_001 }, (_, index) => ({ name: `t${index}` }))), 'LIST_TOO_LARGE'],
    ['a null result', answers.rpcResult(null), 'TOOLSET_NOT_MCP'],
    ['another id', answers.rpcResult({ tools: [] }, { id: 0 }), 'TOOLSET_NOT_MCP'],
    ['a null id', answers.rpcResult({ tools: [] }, { id: null }), 'TOOLSET_NOT_MCP'],
    ['another id on an event stream', answers.rpcResult({ tools: [] }, { id: 0, as: 'sse' }), 'TOOLSET_NOT_MCP'],
    [
      'a batch',
      (exchange) => answers.respond({ body: [{ jsonrpc: '2.0', id: exchange.id, result: { tools: [] } }] })(exchange),
      'TOOLSET_NOT_MCP',
    ],
    [
      'a result and an error',
      (exchange) =>
        answers.respond({ body: { jsonrpc: '2.0', id: exchange.id, result: { tools: [] }, error: { code: 1, message: '' } } })(exchange),
      'TOOLSET_NOT_MCP',
    ],
    [
      'a reply that is no JSON-RPC 2.0',
      (exchange) => answers.respond({ body: { id: exchange.id, result: { tools: [] } } })(exchange),
      'TOOLSET_NOT_MCP',
    ],
    ['a JSON-RPC error', answers.rpcError(-32603, 'boom'), 'TOOLSET_PROTOCOL_ERROR'],
    ['an empty body', answers.respond({ headers: { 'content-type': 'application/json' } }), 'TOOLSET_NOT_MCP'],
    ['broken JSON', answers.respond({ headers: { 'content-type': 'application/json' }, body: '{"jsonrpc":' }), 'TOOLSET_NOT_MCP'],
    [
      'a sign-in page',
      answers.respond({ headers: { 'content-type': 'text/html' }, body: '<!DOCTYPE html>csrf=SECRET' }),
      'TOOLSET_NOT_MCP',
    ],
    ['a redirect to a sign-in page', answers.respond({ status: 302, headers: { location: '/login' } }), 'TOOLSET_REFUSED'],
    ['202 without a body', answers.respond({ status: 202 }), 'TOOLSET_NOT_MCP'],
    ['an event stream that ends', answers.sse([': nothing\n\n']), 'TOOLSET_UNREACHABLE'],
    ['an event stream that is reset', answers.sse([': nothing\n\n'], { end: 'rst' }), 'TOOLSET_UNREACHABLE'],
    ['an event with broken JSON', answers.sse(['data: {"jsonrpc"\n\n'], { end: 'open' }), 'TOOLSET_NOT_MCP'],
    ['401', answers.respond({ status: 401 }), 'TOOLSET_UNAUTHORIZED'],
    ['403', answers.respond({ status: 403 }), 'TOOLSET_UNAUTHORIZED'],
    ['429', answers.respond({ status: 429 }), 'TOOLSET_RATE_LIMITED'],
    ['503', answers.respond({ status: 503 }), 'TOOLSET_SERVER_ERROR'],
  ])('is an error: %s', async (_what, answer, code) => {
    const { toolset, session } = await connected();
    toolset.once('tools/list', answer);
    const list = session.listNow();
    expect(await codeOf(list)).toBe(code);
    await expect(list).rejects.not.toThrow(/SECRET|DOCTYPE/);
    expect(await session.names()).toEqual(['a', 'b', 'c']);
  });

  it('is cut off above 16 MiB while it is being read', async () => {
    const { toolset, session } = await connected();
    toolset.once('tools/list', ({ response }) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const chunk = Buffer.alloc(1024 * 1024, ' ');
      const write = () => {
        if (!response.destroyed) response.write(chunk, write);
      };
      write();
    });
    expect(await codeOf(session.listNow())).toBe('LIST_TOO_LARGE');
  });

  it('keeps Retry-After, in seconds and as a date, and at most an hour', async () => {
    const { toolset, session } = await connected();
    const wait = async (value: string) => {
      toolset.once('tools/list', answers.respond({ status: 503, headers: { 'retry-after': value } }));
      return session.listNow().catch((error: { retryAfterMs?: number }) => error.retryAfterMs);
    };
    expect(await wait('7')).toBe(7_000);
    expect(await wait('999999')).toBe(3_600_000);
    const ms = (await wait(new Date(Date.now() + 30_000).toUTCString())) as number;
    expect(ms).toBeGreaterThan(15_000);
    expect(ms).toBeLessThanOrEqual(30_000);
  });
});

describe('the bytes of a list', () => {
  const text = '读取 — ✅';

  it.each(['json', 'sse'] as const)('may arrive one by one, in the middle of a character (%s)', async (as) => {
    const { toolset, session } = await connected();
    toolset.once('tools/list', async (exchange) => {
      const message = { jsonrpc: '2.0', id: exchange.id, result: { tools: [tool('a', { description: text })] } };
      if (as === 'sse') return answers.sse([message], { chunkBytes: 1 })(exchange);
      exchange.response.writeHead(200, { 'content-type': 'application/json' });
      for (const byte of Buffer.from(JSON.stringify(message))) {
        exchange.response.write(Buffer.from([byte]));
        await new Promise((resolve) => setImmediate(resolve));
      }
      exchange.response.end();
    });
    expect((await session.listNow()).tools[0]?.description).toBe(text);
  });

  it('may be an event of 300 KB with CRLF line ends and data on many lines, in small chunks', async () => {
    const { toolset, session } = await connected();
    const tools = Array.from({ length: 300 }, (_, index) => tool(`t${index}`, { description: `${text} ${'x'.repeat(1_000)}` }));
    toolset.once('tools/list', (exchange) => {
      const json = JSON.stringify({ jsonrpc: '2.0', id: exchange.id, result: { tools } }, null, 1);
      const event = `id: 1\r\ndata: \r\n\r\n: ping\r\n\r\nretry: 500\r\n\r\n${json
        .split('\n')
        .map((line) => `data: ${line}\r\n`)
        .join('')}\r\n`;
      return answers.sse([event], { chunkBytes: 1_000 })(exchange);
    });
    expect((await session.listNow()).tools).toEqual(tools);
  });

  it('may come after a notification, which is a signal, and a request of the server, which is answered', async () => {
    const { toolset, session } = await connected();
    toolset.once(
      'tools/list',
      answers.sse([
        { jsonrpc: '2.0', method: 'notifications/tools/list_changed' },
        { jsonrpc: '2.0', id: 'server-1', method: 'ping' },
        ({ id }) => ({ jsonrpc: '2.0', id, result: { tools: [tool('only')] } }),
      ]),
    );
    expect(await session.names()).toEqual(['only']);
    expect(session.signals).toEqual(['notification']);
    await until(() => toolset.requests.some(({ body }) => (body as { id?: unknown } | undefined)?.id === 'server-1'), {
      what: 'the answer to the ping',
    });
  });
});

describe('the time limit of a list', () => {
  it.each<[string, answers.Answer]>([
    ['never answers', answers.hang],
    ['sends headers only', answers.hangAfterHeaders()],
    ['sends a byte now and then', answers.trickle('{"jsonrpc": ', { everyMs: 20 })],
  ])('ends the walk and frees its socket when the toolset %s', async (_what, answer) => {
    const { toolset, session } = await connected({ era: 'stateless' });
    const open = toolset.openSockets();
    toolset.once('tools/list', answer);
    expect(await codeOf(session.listNow(300))).toBe('LIST_TIMEOUT');
    await until(() => toolset.openSockets() <= open, { what: 'the socket to be closed' });
    expect(await session.names()).toEqual(['a', 'b', 'c']);
  });

  it('bounds all pages together', async () => {
    const { toolset, session } = await connected();
    const closed = gate();
    toolset.once('tools/list', page([tool('a')], { nextCursor: '2' }), answers.held(closed));
    expect(await codeOf(session.listNow(300))).toBe('LIST_TIMEOUT');
    closed.open();
  });
});

describe('a toolset without the tools capability', () => {
  it('is not asked for tools', async () => {
    const { toolset, session } = await connected({ capabilities: { resources: {} } });
    expect(await session.listNow()).toMatchObject({ tools: [], declaresTools: false });
    expect(toolset.counts()['tools/list']).toBe(0);
  });

  it('is found out when it lost the capability: the method is unknown, and a new handshake says why', async () => {
    const { toolset, session } = await connected();
    await session.listNow();
    toolset.capabilities = {};
    toolset.on('tools/list', answers.rpcError(-32601, 'Method not found'));
    expect(await session.listNow()).toMatchObject({ tools: [], declaresTools: false });
  });
});
