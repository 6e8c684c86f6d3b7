import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { onCleanup } from '../support/cleanup.js';
import { startIndex } from '../support/index-server.js';
import { pass, respond } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { runTurn } from '../support/run-client.js';
import { type SdkToolset, startSdkToolset } from '../support/sdk-toolset.js';
import { stays, until } from '../support/until.js';
import { having, listsOf, startFleet, tool } from './fleet.js';

/** Toolsets of one tool each, which has the toolset's name. */
async function startToolsets<Name extends string>(...names: Name[]): Promise<Record<Name, SdkToolset>> {
  const entries = names.map(async (name) => [name, await startSdkToolset({ era: 'legacy', name, tools: [tool(name, 'one')] })] as const);
  return Object.fromEntries(await Promise.all(entries)) as Record<Name, SdkToolset>;
}

describe('the index', () => {
  test('gains a toolset, which joins without a list to any other', async () => {
    const { a, b } = await startToolsets('a', 'b');
    const fleet = await startFleet({ a: a.url });
    const before = listsOf(a);
    fleet.index.set({ a: a.url, b: b.url });
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'one', b: 'one' });
    expect(fleet.rounds().at(-1)).toMatchObject({ trigger: 'index', toolsets: { listed: ['b'], swapped: ['b'] } });
    expect(listsOf(a)).toBe(before);
    await fleet.untilState('b', 'watching');
    b.setTools([tool('b', 'two')]);
    await fleet.untilGeneration(3);
    expect(await fleet.shown()).toEqual({ a: 'one', b: 'two' });
  });

  test('loses a toolset, which is believed at the second good read, and whose session is closed then', async () => {
    const { a, b, c } = await startToolsets('a', 'b', 'c');
    const fleet = await startFleet({ a: a.url, b: b.url, c: c.url });
    const leftAt = performance.now();
    fleet.index.set({ a: a.url, b: b.url });
    await fleet.untilGeneration(2);
    expect(performance.now() - leftAt).toBeGreaterThan(1_000);
    expect(await fleet.shown()).toEqual({ a: 'one', b: 'one' });
    await until(() => c.sessions() === 0 && c.streams() === 0);
    expect([a.sessions(), b.sessions()]).toEqual([1, 1]);
  });

  test('that forgets a toolset for one read only changes nothing', async () => {
    const { a, b, c } = await startToolsets('a', 'b', 'c');
    const whole = { a: a.url, b: b.url, c: c.url };
    const fleet = await startFleet(whole, { env: { MCP_AGENT_API_INDEX_SECONDS: '0' } });
    fleet.index.set({ a: a.url, b: b.url });
    const reads = fleet.index.reads();
    // A request reads the index, once; what is missing then is looked for again after a second.
    await fleet.refresh('a');
    fleet.index.set(whole);
    await until(() => fleet.index.reads() === reads + 2);
    await fleet.refresh('a');
    expect(having(fleet.rounds(), 'swapped')).toHaveLength(1);
    expect(c.sessions()).toBe(1);
  });

  test.each([
    ['cannot be reached', respond({ status: 500 })],
    ['is no JSON', respond({ body: '<h1>Sign in</h1>', headers: { 'content-type': 'text/html' } })],
    ['is no index', respond({ body: { hello: 'world' } })],
    ['names no toolset', respond({ body: { connections: {} } })],
  ])('that %s stays as it was, in one aborted round, while its toolsets go on', async (_what, answer) => {
    const { a } = await startToolsets('a');
    const fleet = await startFleet({ a: a.url });
    fleet.index.answer(answer);
    await until(async () => (await fleet.status()).index.error !== null);
    a.setTools([tool('a', 'two')]);
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'two' });
    expect(having(fleet.rounds(), 'aborted')).toHaveLength(1);
    fleet.index.answer(pass);
    await until(async () => (await fleet.status()).index.error === null);
    expect(having(fleet.rounds(), 'aborted')).toHaveLength(1);
    expect(a.sessions()).toBe(1);
  });

  test('with one entry that cannot be used is an index still, and that toolset is failing', async () => {
    const { a } = await startToolsets('a');
    const fleet = await startFleet({ a: a.url, old: { transport: 'sse', url: a.url } }, { wait: false });
    await fleet.started;
    expect(await fleet.untilState('old', 'failing')).toMatchObject({ error: { code: 'TOOLSET_ENTRY_INVALID' } });
    expect(await fleet.shown()).toEqual({ a: 'one' });
  });
});

describe('a toolset that moves to another URL', () => {
  test('is live and watched at the old one until the new one has given a complete list', async () => {
    const before = await startSdkToolset({ era: 'legacy', tools: [tool('moving', 'at the old place')] });
    const { other } = await startToolsets('other');
    const after = await startSdkToolset({ era: 'legacy', tools: [tool('moving', 'at the new place')] });
    await after.kill();
    const fleet = await startFleet({ moving: before.url, other: other.url });
    const reads = fleet.index.reads();
    fleet.index.set({ moving: after.url, other: other.url });
    await until(() => fleet.index.reads() >= reads + 2);
    before.setTools([tool('moving', 'still at the old place')]);
    await until(async () => (await fleet.shown()).moving === 'still at the old place');
    await after.restart();
    await until(async () => (await fleet.shown()).moving === 'at the new place');
    await until(() => before.sessions() === 0 && before.streams() === 0);
    expect((await fleet.toolset('moving')).url).toBe(after.url);
    after.setTools([tool('moving', 'settled')]);
    await until(async () => (await fleet.shown()).moving === 'settled');
  });
});

describe('new headers for a toolset', () => {
  test('take a new session and no swap', async () => {
    const { a } = await startToolsets('a');
    const entry = (token: string) => ({ transport: 'streamable_http', url: a.url, headers: { 'x-service': token } });
    const fleet = await startFleet({ a: entry('first') });
    fleet.index.set({ a: entry('second') });
    await until(() => a.requests.some(({ method, headers }) => method === 'GET' && headers['x-service'] === 'second'));
    await until(() => a.sessions() === 1);
    await fleet.untilState('a', 'watching');
    expect(having(fleet.rounds(), 'swapped')).toHaveLength(1);
    const headersOf = (from: number) => new Set(a.requests.slice(from).map(({ headers }) => headers['x-service']));
    const from = a.requests.length;
    a.setTools([tool('a', 'two')]);
    await fleet.untilGeneration(2);
    expect(headersOf(from)).toEqual(new Set(['second']));
  });
});

describe('an index in a file', () => {
  const documentOf = (toolsets: Record<string, SdkToolset>) =>
    JSON.stringify({ mcpServers: Object.fromEntries(Object.entries(toolsets).map(([name, { url }]) => [name, { type: 'http', url }])) });

  /** The index is read once a minute here, so that only the watch of the directory can find a change in time. */
  const SELDOM = { env: { MCP_AGENT_API_INDEX_SECONDS: '60' } };

  async function folder(): Promise<string> {
    const path = await mkdtemp(join(tmpdir(), 'mcp-agent-api-index-'));
    onCleanup(() => rm(path, { recursive: true }));
    return path;
  }

  test('is read again when it is replaced', async () => {
    const { a, b } = await startToolsets('a', 'b');
    const file = join(await folder(), 'index.json');
    await writeFile(file, documentOf({ a }));
    const fleet = await startFleet({}, { ...SELDOM, mcpUrl: file });
    expect(await fleet.shown()).toEqual({ a: 'one' });
    await writeFile(`${file}.new`, documentOf({ a, b }));
    await rename(`${file}.new`, file);
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'one', b: 'one' });
  });

  test('is read again when a link beside it is replaced, as a mounted ConfigMap does', async () => {
    const { a, b } = await startToolsets('a', 'b');
    const mount = await folder();
    for (const [version, toolsets] of [['..v1', { a }] as const, ['..v2', { a, b }] as const]) {
      await mkdir(join(mount, version));
      await writeFile(join(mount, version, 'index.json'), documentOf(toolsets));
    }
    await symlink('..v1', join(mount, '..data'));
    await symlink(join('..data', 'index.json'), join(mount, 'index.json'));
    const fleet = await startFleet({}, { ...SELDOM, mcpUrl: pathToFileURL(join(mount, 'index.json')).href });
    await symlink('..v2', join(mount, '..data_tmp'));
    await rename(join(mount, '..data_tmp'), join(mount, '..data'));
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'one', b: 'one' });
  });
});

describe('one MCP endpoint in place of an index', () => {
  test.each(['legacy', 'stateless', 'modern', 'both'] as const)('is the toolset called server (%s)', async (era) => {
    const toolset = await startSdkToolset({ era, tools: [tool('a', 'one')] });
    const fleet = await startFleet({}, { mcpUrl: toolset.url });
    expect((await fleet.status()).toolsets.map(({ name }) => name)).toEqual(['server']);
    expect(await fleet.shown()).toEqual({ a: 'one' });
    toolset.setTools([tool('a', 'two')]);
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'two' });
  });

  test.each([
    ['404', respond({ status: 404 })],
    ['a web page', respond({ body: '<h1>Not yet</h1>', headers: { 'content-type': 'text/html' } })],
    ['500', respond({ status: 500 })],
  ])('is not settled on by an index that answers %s at first', async (_what, answer) => {
    const { a } = await startToolsets('a');
    const index = await startIndex({ a: a.url });
    index.answer(answer);
    const fleet = await startFleet({}, { wait: false, mcpUrl: index.url });
    await until(() => index.requests.filter(({ method }) => method === 'GET').length >= 3);
    expect((await fleet.readiness()).status).toBe(503);
    index.answer(pass);
    await fleet.started;
    expect((await fleet.status()).toolsets.map(({ name }) => name)).toEqual(['a']);
    expect(await fleet.shown()).toEqual({ a: 'one' });
  });

  test("gets the credentials that its sibling /health names, on the user's own calls only", async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    toolset.on('GET', (exchange) =>
      exchange.request.url === '/health' ? respond({ body: { credential_headers: ['X-Demo-Token'] } })(exchange) : pass(exchange),
    );
    const fleet = await startFleet({}, { mcpUrl: toolset.url });
    fleet.model.reply(({ body }) =>
      body.messages.some(({ role }) => role === 'tool') ? { text: 'done' } : { toolCalls: [{ name: 'a', args: {} }] },
    );
    await runTurn(fleet.baseUrl, { text: 'Use it', headers: { 'x-demo-token': "the user's", 'x-other': 'never declared' } });
    const carrying = toolset.requests.filter(({ headers }) => headers['x-demo-token'] !== undefined);
    expect(carrying.map(({ rpc, headers }) => [rpc, headers['x-demo-token']])).toEqual([['tools/call', "the user's"]]);
    expect(toolset.requests.some(({ headers }) => headers['x-other'] !== undefined)).toBe(false);
    expect(fleet.model.requests.some(({ text }) => text.includes("the user's"))).toBe(false);
    await stays(() => toolset.counts()['tools/call'] === 1, { durationMs: 50 });
  });
});
