import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readIndex, readSiblingHealth, watchIndexFile } from '../../src/mcp/toolset-index.js';
import { onCleanup } from '../support/cleanup.js';
import { startIndex } from '../support/index-server.js';
import * as answers from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { stays, until } from '../support/until.js';
import { codeOf } from './session-fixture.js';

const options = (env: Record<string, string | undefined> = {}) => ({ signal: AbortSignal.timeout(5_000), env });
const KB = { transport: 'streamable_http', url: 'http://127.0.0.1:1/mcp' };

const namesIn = async (url: string) => {
  const read = await readIndex(url, options());
  return read.kind === 'index' ? read.document.entries.map((entry) => (entry.ok ? entry.endpoint.name : `bad ${entry.name}`)) : read.kind;
};

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'index-'));
  onCleanup(() => rm(path, { recursive: true, force: true }));
  return path;
}

describe('the index at a URL', () => {
  it('is read with its headers filled in from the environment', async () => {
    const index = await startIndex({ kb: { ...KB, headers: { 'x-key': ['$', '{MCP_HEADER_KEY}'].join('') } } });
    const read = await readIndex(index.url, options({ MCP_HEADER_KEY: 'k' }));
    expect(read).toMatchObject({
      kind: 'index',
      document: { entries: [{ ok: true, endpoint: { name: 'kb', headers: { 'x-key': 'k' } } }] },
    });
    expect(index.requests[0]?.headers.accept).toBe('application/json');
  });

  it.each<[string, answers.Answer]>([
    ['other JSON', answers.respond({ body: { hello: 1 } })],
    ['HTML', answers.respond({ headers: { 'content-type': 'text/html' }, body: '<html>' })],
    ['405', answers.respond({ status: 405 })],
    ['406', answers.respond({ status: 406 })],
    ['400', answers.respond({ status: 400 })],
    ['401', answers.respond({ status: 401 })],
    ['404', answers.respond({ status: 404 })],
    ['an event stream that never ends', answers.sse([': hello\n\n'], { end: 'open' })],
  ])('is no index when it answers %s', async (_what, answer) => {
    const index = await startIndex();
    index.answer(answer);
    expect(await readIndex(index.url, options())).toEqual({ kind: 'not-an-index' });
  });

  it.each(['legacy', 'stateless', 'modern', 'both'] as const)('may be an MCP endpoint (%s)', async (era) => {
    const toolset = await startSdkToolset({ era });
    expect(await readIndex(toolset.url, options())).toEqual({ kind: 'not-an-index' });
    await until(() => toolset.sockets() === 0, { what: 'no socket' });
  });

  it.each<[string, answers.Answer]>([
    ['500', answers.respond({ status: 500 })],
    ['503', answers.respond({ status: 503 })],
    ['429', answers.respond({ status: 429 })],
    ['a reset', answers.destroy],
    ['a reset in the middle', answers.destroyMidway()],
  ])('is unreachable when it answers %s', async (_what, answer) => {
    const index = await startIndex();
    index.answer(answer);
    expect(await codeOf(readIndex(index.url, options()))).toBe('INDEX_UNREACHABLE');
  });

  it('is bounded in size and in time', async () => {
    const index = await startIndex();
    index.answer(answers.respond({ headers: { 'content-type': 'application/json' }, body: `"${'x'.repeat(10 * 1024 * 1024)}"` }));
    expect(await codeOf(readIndex(index.url, options()))).toBe('INDEX_UNREACHABLE');
    index.answer(answers.hang);
    expect(await codeOf(readIndex(index.url, { signal: AbortSignal.timeout(100), env: {} }))).toBe('INDEX_UNREACHABLE');
    await index.close();
    expect(await codeOf(readIndex(index.url, options()))).toBe('INDEX_UNREACHABLE');
  });

  it('is said to be unreachable with the reason that the system gives', async () => {
    const index = await startIndex();
    await index.close();
    await expect(readIndex(index.url, options())).rejects.toThrow('The index could not be read (ECONNREFUSED).');
    const file = join(await folder(), 'index.json');
    await expect(readIndex(file, options())).rejects.toThrow('The index file could not be read (ENOENT).');
    const mute = await startIndex();
    mute.answer(answers.hang);
    const signal = AbortSignal.timeout(100);
    await expect(readIndex(mute.url, { signal, env: {} })).rejects.toThrow('The index did not answer in time.');
    mute.answer(answers.respond({ headers: { 'content-type': 'application/json' }, body: `"${'x'.repeat(10 * 1024 * 1024)}"` }));
    await expect(readIndex(mute.url, options())).rejects.toThrow(/^The index could not be read: .*bytes/);
  });

  it.each(['ftp://127.0.0.1/x', 'http://user:password@127.0.0.1/x'])('cannot be %s', async (url) => {
    const reading = readIndex(url, options());
    expect(await codeOf(reading)).toBe('INDEX_MALFORMED');
    await expect(reading).rejects.not.toThrow(/password@/);
  });
});

describe('the index in a file', () => {
  it('is read by path and by file: URL', async () => {
    const path = join(await folder(), 'index.json');
    await writeFile(path, JSON.stringify({ mcpServers: { kb: { url: KB.url }, old: { command: 'x' } } }));
    expect(await namesIn(path)).toEqual(['kb', 'bad old']);
    expect(await namesIn(pathToFileURL(path).href)).toEqual(['kb', 'bad old']);
    expect(await namesIn(`file:${relative(process.cwd(), path)}`)).toEqual(['kb', 'bad old']);
  });

  it('says what is wrong with it', async () => {
    const path = join(await folder(), 'index.json');
    expect(await codeOf(readIndex(path, options()))).toBe('INDEX_UNREACHABLE');
    for (const text of ['{"connections":', '', '[]', '{"hello":1}']) {
      await writeFile(path, text);
      expect(await codeOf(readIndex(path, options()))).toBe('INDEX_MALFORMED');
    }
  });

  it('is watched: written in place, replaced by a rename, and behind a link beside it as in a mounted ConfigMap', async () => {
    const directory = await folder();
    const path = join(directory, 'index.json');
    let changes = 0;
    const stop = watchIndexFile(path, () => {
      changes += 1;
    });
    onCleanup(stop);
    const changed = async (change: () => Promise<unknown>) => {
      const before = changes;
      await change();
      await until(() => changes > before, { what: 'a change to be seen' });
    };
    await changed(() => writeFile(path, '{}'));
    await writeFile(join(directory, 'new.json'), '{}');
    await changed(() => rename(join(directory, 'new.json'), path));
    await mkdir(join(directory, '..2026'));
    await changed(() => symlink('..2026', join(directory, '..data')));
    stop();
    const before = changes;
    await writeFile(path, '{"a":1}');
    await stays(() => changes === before, { durationMs: 300 });
  });

  it('need not exist to be watched, and a URL is not watched', () => {
    watchIndexFile('/no/such/folder/index.json', () => undefined)();
    watchIndexFile('http://127.0.0.1:1/', () => undefined)();
  });
});

describe('the health document beside a single endpoint', () => {
  it('names the credential headers', async () => {
    const toolset = await startRawToolset();
    toolset.on('GET', (exchange) =>
      exchange.request.url === '/health'
        ? answers.respond({ body: { credential_headers: ['X-Demo-Token', 'cookie'] } })(exchange)
        : answers.pass(exchange),
    );
    expect(await readSiblingHealth(toolset.url, options())).toEqual(['x-demo-token']);
    expect(await readSiblingHealth(`${toolset.url}/?x=1`, options())).toEqual(['x-demo-token']);
  });

  it('may be missing', async () => {
    const toolset = await startRawToolset();
    expect(await readSiblingHealth(toolset.url, options())).toEqual([]);
    await toolset.close();
    expect(await readSiblingHealth(toolset.url, options())).toEqual([]);
  });
});
