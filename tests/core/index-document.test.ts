import { credentialHeadersOf, readIndexDocument } from '../../src/core/index-document.js';

const env = { MCP_HEADER_KEY: 'k3y', MCP_HEADER_DOLLAR: '$&', SECRET: 'secret', MCP_HEADER_BROKEN: 'a\nb' };

/** A variable as an index writes it: `${NAME}`. */
const variable = (name: string) => ['$', '{', name, '}'].join('');

/** The only entry of an index with this connection. */
function entryOf(connection: unknown, more: Record<string, unknown> = {}) {
  return readIndexDocument({ connections: { kb: connection }, ...more }, env)?.entries[0];
}

describe('reading an index (3.13)', () => {
  it.each([null, 'text', 42, [], {}, { connections: null }, { connections: [] }, { status: 'ok', credential_headers: [] }])(
    'finds that %j is no index',
    (body) => {
      expect(readIndexDocument(body, env)).toBeUndefined();
    },
  );

  it('tells an index without toolsets from no index', () => {
    expect(readIndexDocument({ connections: {} }, env)).toEqual({ entries: [] });
  });

  it('reads names, URLs, headers and credential headers, sorted by name', () => {
    const body = {
      version: 3,
      connections: {
        web: { transport: 'streamable_http', url: 'https://web.example/mcp', headers: { 'X-Key': `Bearer ${variable('MCP_HEADER_KEY')}` } },
        kb: { url: 'http://10.0.0.1:80/mcp#part', unknown: true },
      },
      toolsets: [
        {
          name: 'web',
          url: 'x',
          status: 'unreachable',
          tools: [],
          credential_headers: [' X-Demo-Token', 'Authorization', 'x-demo-token', 5],
        },
        null,
        { name: 5 },
        { name: 'elsewhere', credential_headers: ['x-a'] },
      ],
    };
    expect(readIndexDocument(body, env)).toEqual({
      entries: [
        { ok: true, endpoint: { name: 'kb', url: 'http://10.0.0.1/mcp', headers: {}, credentialHeaders: [] }, ignoredHeaders: [] },
        {
          ok: true,
          endpoint: {
            name: 'web',
            url: 'https://web.example/mcp',
            headers: { 'X-Key': 'Bearer k3y' },
            credentialHeaders: ['authorization', 'x-demo-token'],
          },
          ignoredHeaders: [],
        },
      ],
    });
  });

  it('accepts mcpServers as desktop clients write it', () => {
    const body = { mcpServers: { kb: { type: 'http', url: 'http://h/mcp' }, local: { command: 'npx', args: [] } } };
    expect(readIndexDocument(body, env)?.entries).toMatchObject([
      { ok: true },
      { ok: false, name: 'local', reason: expect.stringContaining('stdio') },
    ]);
  });

  it.each(['streamable_http', 'streamable-http', 'http', null, undefined])('accepts the transport %s', (transport) => {
    expect(entryOf({ transport, url: 'http://h/mcp' })).toMatchObject({ ok: true, endpoint: { url: 'http://h/mcp' } });
  });

  it.each<[string, unknown, string]>([
    ['no object', 'http://h/mcp', 'not an object'],
    ['sse', { transport: 'sse', url: 'http://h/' }, "'sse' is refused"],
    ['stdio', { transport: 'stdio', url: 'http://h/' }, "'stdio' is refused"],
    ['a command beside a url', { command: 'rm', url: 'http://h/' }, "'stdio' is refused"],
    ['an unknown transport', { transport: 'websocket', url: 'http://h/' }, 'transport is unknown'],
    ['no url', {}, 'url is missing'],
    ['a relative url', { url: '/mcp' }, 'not a valid URL'],
    ['a file', { url: 'file:///etc/passwd' }, 'neither http: nor https:'],
    ['headers that are a list', { url: 'http://h/', headers: ['a'] }, 'headers are not an object'],
    ['a header value that is no text', { url: 'http://h/', headers: { 'x-a': 5 } }, "'x-a' is not a string"],
    ['a header name with a line break', { url: 'http://h/', headers: { 'x\r\ny': 'a' } }, 'name of a header is not valid'],
    ['a header value with a line break', { url: 'http://h/', headers: { 'x-a': variable('MCP_HEADER_BROKEN') } }, "'x-a' has characters"],
    [
      'a variable that is not set',
      { url: 'http://h/', headers: { 'x-a': variable('MCP_HEADER_NONE') } },
      'MCP_HEADER_NONE, which is not set',
    ],
  ])('finds an entry bad that has %s, and keeps the others', (_, connection, reason) => {
    const entries = readIndexDocument({ connections: { bad: connection, good: { url: 'http://h/mcp' } } }, env)?.entries;
    expect(entries).toMatchObject([{ ok: false, name: 'bad', reason: expect.stringContaining(reason) }, { ok: true }]);
  });

  it('refuses user info in a URL and does not repeat it', () => {
    const entry = entryOf({ url: 'http://user:hunter2@h/mcp' });
    expect(entry).toMatchObject({ ok: false, reason: expect.stringContaining('user name or a password') });
    expect(JSON.stringify(entry)).not.toContain('hunter2');
  });

  it('replaces variables of its prefix only, and takes their values as they are', () => {
    const headers = {
      a: `${variable('SECRET')} $MCP_HEADER_KEY ${variable('mcp_header_key')}`,
      b: variable('MCP_HEADER_DOLLAR'),
      c: `${variable('MCP_HEADER_KEY')}-${variable('MCP_HEADER_KEY')}`,
    };
    expect(entryOf({ url: 'http://h/', headers })).toMatchObject({
      endpoint: { headers: { a: headers.a, b: '$&', c: 'k3y-k3y' } },
    });
  });

  it('takes no variable from the prototype of the environment', () => {
    const inherited = Object.create({ MCP_HEADER_KEY: 'inherited' }) as Record<string, string>;
    const body = { connections: { kb: { url: 'http://h/', headers: { a: variable('MCP_HEADER_KEY') } } } };
    expect(readIndexDocument(body, inherited)?.entries[0]).toMatchObject({ ok: false });
  });

  it('ignores and reports credential headers that nobody may declare (7.6)', () => {
    const declared = [
      'Cookie',
      'Host',
      'connection',
      'TE',
      'transfer-encoding',
      'upgrade',
      'Content-Length',
      'mcp-session-id',
      'bad name',
      'x-ok',
    ];
    const entry = entryOf({ url: 'http://h/' }, { toolsets: [{ name: 'kb', credential_headers: declared }] });
    expect(entry).toMatchObject({
      ok: true,
      endpoint: { credentialHeaders: ['x-ok'] },
      ignoredHeaders: [
        'bad name',
        'connection',
        'content-length',
        'cookie',
        'host',
        'mcp-session-id',
        'te',
        'transfer-encoding',
        'upgrade',
      ],
    });
  });

  it('accepts names of 1 to 200 characters, __proto__ among them', () => {
    const connections = JSON.parse('{"__proto__":{"url":"http://h/"},"":{"url":"http://h/"}}');
    connections['n'.repeat(200)] = { url: 'http://h/' };
    connections['o'.repeat(201)] = { url: 'http://h/' };
    const entries = readIndexDocument({ connections }, env)?.entries ?? [];
    expect(entries.map((entry) => (entry.ok ? entry.endpoint.name : `bad: ${entry.name}`))).toEqual([
      'bad: ',
      '__proto__',
      'n'.repeat(200),
      `bad: ${'o'.repeat(200)}`,
    ]);
  });
});

describe('the credential headers of a single endpoint (3.13)', () => {
  it('reads them from the health answer, without those that nobody may declare', () => {
    expect(credentialHeadersOf({ status: 'ok', credential_headers: ['X-B', 'x-a', 'cookie', null] })).toEqual(['x-a', 'x-b']);
  });

  it.each([undefined, null, 'ok', [], {}, { credential_headers: 'x-a' }])('finds none in %j', (body) => {
    expect(credentialHeadersOf(body)).toEqual([]);
  });
});
