import { startFleet, tool } from '../flows/fleet.js';
import { onCleanup } from '../support/cleanup.js';
import { serveLoopback } from '../support/loopback-server.js';
import { respond } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { stays, until } from '../support/until.js';

const SECRET = 'Bearer service-secret';

// The case asks for a guard against private addresses; by 14.2 toolsets on private addresses are normal, and the index decides.
test('B142: an index entry that is no http(s) URL, holds user info or would start a program is refused by name; the others live', async () => {
  const good = await startRawToolset({ tools: [tool('good', 'one')] });
  const port = new URL(good.url).port;
  const bad: Record<string, Record<string, unknown>> = {
    userinfo: { url: good.url.replace('http://', 'http://user:hunter2@') },
    file: { url: 'file:///etc/passwd' },
    ftp: { url: `ftp://127.0.0.1:${port}/mcp` },
    data: { url: 'data:application/json,{}' },
    nothing: {},
    number: { url: 42 },
    stdio: { transport: 'stdio', command: 'id' },
    command: { command: 'id', args: ['-a'] },
    sse: { transport: 'sse', url: good.url },
    header: { url: good.url, headers: { 'bad name': 'x' } },
    injected: { url: good.url, headers: { 'x-a': 'b\r\nx-c: d' } },
  };
  const fleet = await startFleet({ good: good.url, ...bad }, { wait: false });
  await fleet.started;
  await fleet.untilState('good', 'watching');
  for (const name of Object.keys(bad))
    expect([name, (await fleet.untilState(name, 'failing')).error?.code]).toEqual([name, 'TOOLSET_ENTRY_INVALID']);
  expect(await fleet.shown()).toEqual({ good: 'one' });
  expect(good.counts().initialize).toBe(1);
  expect(JSON.stringify([await fleet.status(), fleet.log])).not.toContain('hunter2');
});

test.each(['an octal', 'a decimal', 'a mapped'])(
  'B142: a private address written as %s one is the same toolset as any other',
  async (form) => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    const { port } = new URL(toolset.url);
    const hosts: Record<string, string> = { 'an octal': '0177.0.0.1', 'a decimal': '2130706433', 'a mapped': '127.1' };
    const fleet = await startFleet({ kb: `http://${hosts[form]}:${port}/mcp` });
    expect((await fleet.toolset('kb')).url).toBe(`http://127.0.0.1:${port}/mcp`);
  },
);

test('B142: credentials do not follow a redirect to another origin, whatever its status', async () => {
  const statuses = [301, 302, 303, 307, 308];
  const good = await startRawToolset({ tools: [tool('good', 'one')] });
  let asked = 0;
  const elsewhere = await serveLoopback((_request, response) => {
    asked += 1;
    response.end('{}');
  });
  onCleanup(() => elsewhere.close());
  const headers = { authorization: SECRET, 'x-api-key': 'service-secret' };
  const entries: Record<string, Record<string, unknown>> = {};
  for (const status of statuses) {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    toolset.on('*', respond({ status, headers: { location: `${elsewhere.origin}/mcp` } }));
    entries[`r${status}`] = { transport: 'http', url: toolset.url, headers };
    onCleanup(() => expect(toolset.requests.some((request) => request.headers.authorization === SECRET)).toBe(true));
  }
  const fleet = await startFleet({ ...entries, good: good.url }, { wait: false });
  await fleet.started;
  for (const status of statuses) expect((await fleet.untilState(`r${status}`, 'failing')).error?.code).toBe('TOOLSET_REFUSED');
  expect(await fleet.shown()).toEqual({ good: 'one' });
  expect(asked).toBe(0);
  expect(JSON.stringify([await fleet.status(), fleet.log])).not.toContain('service-secret');
});

test('B146: one bad entry among three, and then an index that is broken in every way, change nothing for the good toolsets', async () => {
  const one = await startRawToolset({ tools: [tool('one', '1')] });
  const two = await startRawToolset({ tools: [tool('two', '2')] });
  const entries = { one: one.url, two: two.url, bad: { url: 'not a url' } };
  const fleet = await startFleet(entries, { wait: false });
  await fleet.started;
  await fleet.untilState('one', 'watching');
  await fleet.untilState('two', 'watching');
  expect((await fleet.untilState('bad', 'failing')).error?.code).toBe('TOOLSET_ENTRY_INVALID');
  expect(await fleet.shown()).toEqual({ one: '1', two: '2' });

  const json = (body: string) => respond({ headers: { 'content-type': 'application/json' }, body });
  const broken = {
    'status 500': respond({ status: 500, body: 'broken' }),
    HTML: respond({ headers: { 'content-type': 'text/html' }, body: '<h1>Sign in</h1>' }),
    'a list': json('[]'),
    'no connections': json('{"connections":{}}'),
    'half a document': json('{"connections":{"one":'),
    null: json('null'),
    'more than 10 MB': json(JSON.stringify({ connections: { one: { url: one.url } }, filler: 'x'.repeat(11 * 1024 * 1024) })),
  };
  for (const [kind, answer] of Object.entries(broken)) {
    fleet.index.answer(answer);
    // A request reads the index first, so that no back-off has to be waited for.
    await fleet.refresh();
    expect((await fleet.status()).index.error?.code).toMatch(/^INDEX_(UNREACHABLE|MALFORMED|EMPTY)$/);
    expect([kind, await fleet.shown()]).toEqual([kind, { one: '1', two: '2' }]);
    fleet.index.answer();
    await fleet.refresh();
    expect([kind, (await fleet.status()).index.error]).toEqual([kind, null]);
  }
  // A toolset that still answers goes on being watched while the index is broken.
  fleet.index.answer(broken['status 500']);
  one.tools = [tool('one', 'new')];
  one.push();
  await until(async () => (await fleet.shown()).one === 'new');
});

test('B146: an entry that is removed loses its tools and its session, and two names for one URL are two toolsets', async () => {
  const one = await startRawToolset({ tools: [tool('a', 'one')] });
  const two = await startRawToolset({ tools: [tool('b', 'two')] });
  const fleet = await startFleet({ one: one.url, two: two.url, again: two.url });
  expect(Object.keys(await fleet.shown()).sort()).toEqual(['a', 'again__b', 'two__b']);
  fleet.index.set({ two: two.url, again: two.url });
  await until(async () => !Object.keys(await fleet.shown()).includes('a'), { timeoutMs: 15_000 });
  expect(one.counts().DELETE).toBe(1);
  await until(() => one.openSockets() === 0);
  const { length } = one.requests;
  await stays(() => one.requests.length === length, { durationMs: 500 });
  expect((await fleet.status()).toolsets.map(({ name }) => name)).toEqual(['again', 'two']);
});
