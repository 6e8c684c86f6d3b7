import { listsOf, startFleet, tool } from '../flows/fleet.js';
import { shownTools } from '../support/model-server.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { until } from '../support/until.js';
import { callShown, connectionsOf, resultsOf, shownNames } from './shown-tools.js';

const LEGAL = /^[A-Za-z0-9_-]{1,64}$/;
const tools = (...names: string[]) => names.map((name) => tool(name, `What ${name} does.`));
const answering = (text: string) => () => ({ content: [{ type: 'text', text }] });

test('B69: two toolsets with a tool of the same name are told apart, and when one goes its calls do not reach the other', async () => {
  const one = await startRawToolset({ tools: tools('execute_sql', 'ping') });
  const two = await startRawToolset({ tools: tools('execute_sql') });
  one.calls.set('execute_sql', answering('1'));
  two.calls.set('execute_sql', answering('2'));
  const fleet = await startFleet({ one: one.url, two: two.url });
  expect(await shownNames(fleet)).toEqual({
    'one/execute_sql': 'one__execute_sql',
    'one/ping': 'ping',
    'two/execute_sql': 'two__execute_sql',
  });
  const turn = await callShown(fleet, [{ name: 'one__execute_sql' }, { name: 'two__execute_sql' }], 'thread');
  expect(resultsOf(turn).sort()).toEqual(['1', '2']);
  expect([...one.received, ...two.received].map(({ tool: name }) => name)).toEqual(['execute_sql', 'execute_sql']);

  one.tools = tools('ping');
  one.push();
  await fleet.untilGeneration(2);
  const [answer] = resultsOf(await callShown(fleet, [{ name: 'one__execute_sql' }], 'thread'));
  expect(answer).toContain('There is no tool named');
  expect(two.received).toHaveLength(1);
});

test('B70: three names of one toolset that become equal when made legal stay three, whatever the order of the list and after a restart', async () => {
  const names = ['a.b', 'a_b', 'a b', 'a/b'];
  const toolset = await startRawToolset({ tools: tools(...names) });
  const fleet = await startFleet({ kb: toolset.url });
  const shown = await shownNames(fleet);
  expect(new Set(Object.values(shown)).size).toBe(names.length);
  expect(shown['kb/a_b']).toBe('a_b');
  for (const name of Object.values(shown)) expect(name).toMatch(LEGAL);

  const lists = listsOf(toolset);
  toolset.tools = tools(...names.toReversed());
  toolset.push();
  await until(() => listsOf(toolset) > lists);
  expect((await fleet.refresh()).body).toMatchObject({ outcome: 'unchanged' });
  expect(await shownNames(fleet)).toEqual(shown);
  expect(await shownNames(await startFleet({ kb: toolset.url }))).toEqual(shown);

  await callShown(
    fleet,
    Object.values(shown).map((name) => ({ name })),
  );
  expect(toolset.received.map(({ tool: name }) => name).sort()).toEqual([...names].sort());
});

test('B72: names that providers refuse are shown legal and called with the original', async () => {
  const names = [
    'admin.tools.list',
    'user/update',
    '工具',
    '工具二',
    'a b',
    'x'.repeat(64),
    'x'.repeat(65),
    'y'.repeat(200),
    `${'y'.repeat(200)}z`,
  ];
  const toolset = await startRawToolset({ tools: tools(...names) });
  const fleet = await startFleet({ kb: toolset.url });
  const shown = await shownNames(fleet);
  expect(Object.keys(shown).sort()).toEqual(names.map((name) => `kb/${name}`).sort());
  expect(new Set(Object.values(shown)).size).toBe(names.length);
  for (const name of Object.values(shown)) expect(name).toMatch(LEGAL);
  const turn = await callShown(
    fleet,
    Object.values(shown).map((name) => ({ name })),
  );
  expect(turn.text).toBe('done');
  expect(toolset.received.map(({ tool: name }) => name).sort()).toEqual([...names].sort());
});

// The case would quarantine the tool without a name; 6.2 calls such a list malformed, so the last complete one stays.
test('B72: a list with an empty name changes nothing, and the toolset is failing until it is mended', async () => {
  const toolset = await startRawToolset({ tools: tools('a') });
  const other = await startRawToolset({ tools: tools('b') });
  const fleet = await startFleet({ kb: toolset.url, other: other.url });
  toolset.tools = tools('a', 'new', '');
  toolset.push();
  const { error } = await fleet.untilState('kb', 'failing');
  expect(error?.code).toBe('LIST_MALFORMED');
  expect(Object.keys(await fleet.shown())).toEqual(['a', 'b']);
  toolset.tools = tools('a', 'new');
  await fleet.refresh('kb');
  await fleet.untilGeneration(2);
  expect(Object.keys(await fleet.shown())).toEqual(['a', 'new', 'b']);
});

test('B75: a change of the toolset foo leaves the tools of foo__bar alone', async () => {
  const foo = await startRawToolset({ tools: tools('x', 'same') });
  const bar = await startRawToolset({ tools: tools('y', 'same') });
  const fleet = await startFleet({ foo: foo.url, foo__bar: bar.url });
  foo.tools = tools('x2', 'same');
  foo.push();
  await fleet.untilGeneration(2);
  expect(await shownNames(fleet)).toEqual({
    'foo/x2': 'x2',
    'foo/same': 'foo__same',
    'foo__bar/y': 'y',
    'foo__bar/same': 'foo__bar__same',
  });
  await callShown(fleet, [{ name: 'y' }, { name: 'foo__bar__same' }]);
  expect(bar.received.map(({ tool: name }) => name).sort()).toEqual(['same', 'y']);
  expect(foo.received).toEqual([]);
});

test('B75: names that two toolsets could build in the same way reach the right one', async () => {
  const outer = await startRawToolset({ tools: tools('b__c', 'c') });
  const inner = await startRawToolset({ tools: tools('c', 'b__c') });
  const fleet = await startFleet({ a: outer.url, a__b: inner.url });
  const shown = await shownNames(fleet);
  expect(new Set(Object.values(shown)).size).toBe(4);
  await callShown(fleet, [{ name: String(shown['a/b__c']) }, { name: String(shown['a__b/c']) }]);
  expect(outer.received.map(({ tool: name }) => name)).toEqual(['b__c']);
  expect(inner.received.map(({ tool: name }) => name)).toEqual(['c']);
});

test('B76: tools and properties that are called like parts of Object.prototype work, and their changes are seen', async () => {
  const names = ['__proto__', 'constructor', 'hasOwnProperty', 'toString'];
  const inputSchema = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"object","properties":{"polluted":{"type":"string"}}},"constructor":{"type":"string"}},"required":["__proto__"]}',
  );
  const toolset = await startRawToolset({ tools: names.map((name) => ({ name, description: 'one', inputSchema })) });
  const fleet = await startFleet({ kb: toolset.url });
  expect(Object.values(await shownNames(fleet)).sort()).toEqual([...names].sort());
  const { tools: shown } = await connectionsOf(fleet);
  const properties = Object.keys(shown[0]?.parameters.properties as object);
  const renamed = String(properties.find((name) => name !== 'constructor'));
  expect(renamed).not.toBe('__proto__');
  const turn = await callShown(
    fleet,
    names.map((name) => ({ name, args: { [renamed]: { polluted: 'yes' }, constructor: 'c' } })),
  );
  expect(turn.text).toBe('done');
  expect(toolset.received.map(({ tool: name }) => name).sort()).toEqual([...names].sort());
  const sent = toolset.requests.filter(({ rpc }) => rpc === 'tools/call').map(({ body }) => JSON.stringify(body));
  for (const body of sent) expect(body).toContain('"__proto__":{"polluted":"yes"}');
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();

  toolset.tools = names.map((name) => ({ name, description: name === '__proto__' ? 'two' : 'one', inputSchema }));
  toolset.push();
  await fleet.untilGeneration(2);
  expect(fleet.rounds().at(-1)?.changes.changed).toEqual(['__proto__']);
});

test('B77: of two tools with one name the same one is shown in either order, the other is reported, and a flip is no change', async () => {
  const twins = [tool('a', 'first'), tool('a', 'second'), tool('b', 'only')];
  const toolset = await startRawToolset({ tools: twins });
  const fleet = await startFleet({ kb: toolset.url });
  const before = await fleet.shown();
  expect(Object.keys(before)).toEqual(['a', 'b']);
  expect((await connectionsOf(fleet)).withheld).toEqual([{ toolset: 'kb', tool: 'a', reason: expect.stringContaining('same name') }]);
  expect(fleet.log.filter(({ message }) => message === 'tools withheld')).toEqual([
    { level: 'warn', message: 'tools withheld', fields: expect.objectContaining({ toolset: 'kb', withheld: 1, tools: ['a'] }) },
  ]);
  toolset.tools = twins.toReversed();
  toolset.push();
  expect((await fleet.refresh()).body).toMatchObject({ outcome: 'unchanged' });
  expect(await fleet.shown()).toEqual(before);
  expect((await fleet.status()).generation).toBe(1);
});

test('a sibling that comes or goes renames no tool that does not clash with it (6.1)', async () => {
  const stay = ['search', 'get.item', 'get item', `${'long'.repeat(20)}-1`, `${'long'.repeat(20)}-2`];
  const kb = await startRawToolset({ tools: tools(...stay, 'goes', 'go.es') });
  const docs = await startRawToolset({ tools: tools('search', 'read') });
  const fleet = await startFleet({ kb: kb.url, docs: docs.url });
  const before = await shownNames(fleet);
  kb.tools = tools('comes', 'co.mes', ...stay.toReversed());
  kb.push();
  await fleet.untilGeneration(2);
  const after = await shownNames(fleet);
  for (const name of [...stay.map((own) => `kb/${own}`), 'docs/search', 'docs/read'])
    expect([name, after[name]]).toEqual([name, before[name]]);
});

test('names that differ in case only are both kept, and a name with the prefix that LangChain reserves is called', async () => {
  const names = ['Search', 'search', 'extract-text', 'extract.text'];
  const toolset = await startRawToolset({ tools: tools(...names) });
  const fleet = await startFleet({ kb: toolset.url });
  await fleet.shown();
  const shown = shownTools(fleet.model.requests.at(-1)).map(({ name }) => name);
  expect(shown).toEqual(expect.arrayContaining(['Search', 'search', 'extract-text']));
  await callShown(
    fleet,
    shown.map((name) => ({ name })),
  );
  expect(toolset.received.map(({ tool: name }) => name).sort()).toEqual([...names].sort());
});
