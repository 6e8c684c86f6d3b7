import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { type Answer, respond } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { codeOf, watchedSession } from './session-fixture.js';

const TOOLS = [{ name: 'a', description: 'Größer als ein Byte.', inputSchema: { type: 'object' } }];

/** The whole list with this `Content-Encoding`, as a proxy sends it that compresses without being asked. */
function listAs(encoding: string, compress: (text: string) => Buffer): Answer {
  return (exchange) => {
    const text = JSON.stringify({ jsonrpc: '2.0', id: exchange.id, result: { tools: TOOLS } });
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
    return respond({ headers, body: compress(text) })(exchange);
  };
}

async function connected(headers: Record<string, string> = {}) {
  const toolset = await startRawToolset({ tools: [{ name: 'before' }] });
  const session = watchedSession(toolset.url, { headers });
  await session.start();
  return { toolset, session };
}

test.each([
  ['gzip', gzipSync],
  ['GZIP', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
] as const)('a list that a proxy has compressed with %s is read', async (encoding, compress) => {
  const { toolset, session } = await connected();
  toolset.once('tools/list', listAs(encoding, compress));
  expect((await session.listNow()).tools).toEqual(TOOLS);
});

test.each([
  ['an encoding that nobody asked for and nobody knows', 'zstd', gzipSync],
  ['two encodings on top of each other', 'gzip, br', (text: string) => brotliCompressSync(gzipSync(text))],
] as const)('a list with %s is refused, and no tool is lost', async (_, encoding, compress) => {
  const { toolset, session } = await connected();
  toolset.once('tools/list', listAs(encoding, compress));
  expect(await codeOf(session.listNow())).toBe('TOOLSET_NOT_MCP');
  expect((await session.listNow()).tools).toEqual([{ name: 'before' }]);
});

test('a compressed list that breaks off is a failure, not a shorter list', async () => {
  const { toolset, session } = await connected();
  toolset.once(
    'tools/list',
    listAs('gzip', (text) => gzipSync(text).subarray(0, 40)),
  );
  expect(await codeOf(session.listNow())).toBe('TOOLSET_UNREACHABLE');
  expect((await session.listNow()).tools).toEqual([{ name: 'before' }]);
});

test('every request says who sends it, unless the index says otherwise', async () => {
  const plain = await connected();
  expect(new Set(plain.toolset.requests.map(({ headers }) => headers['user-agent']))).toEqual(new Set(['mcp-agent-api']));
  const named = await connected({ 'User-Agent': 'ours/1.0' });
  expect(new Set(named.toolset.requests.map(({ headers }) => headers['user-agent']))).toEqual(new Set(['ours/1.0']));
});
