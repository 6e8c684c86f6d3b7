import { type Fleet, startFleet, tool } from '../flows/fleet.js';
import { onCleanup } from '../support/cleanup.js';
import { serveLoopback } from '../support/loopback-server.js';
import { shownTools } from '../support/model-server.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { refusalOf } from '../support/strict-provider.js';
import { callShown, connectionsOf } from './shown-tools.js';

type Json = Record<string, unknown>;

const withSchema = (name: string, inputSchema: unknown, more: Json = {}) => ({
  name,
  description: `What ${name} does.`,
  inputSchema,
  ...more,
});

/** What the model is shown of each tool's parameters, as it stands in the request that the provider received. */
async function parametersOf(fleet: Fleet): Promise<Record<string, Json>> {
  await fleet.shown();
  return Object.fromEntries(shownTools(fleet.model.requests.at(-1)).map(({ name, parameters }) => [name, parameters as Json]));
}

/** A service whose only toolset has these schemas, one tool each, beside a tool that is in order. The provider refuses what real ones refuse. */
async function serve(schemas: Readonly<Record<string, unknown>>): Promise<{ fleet: Fleet; toolset: RawToolset }> {
  const toolset = await startRawToolset({
    tools: [...Object.entries(schemas).map(([name, schema]) => withSchema(name, schema)), tool('steady', 'in order')],
  });
  return { fleet: await startFleet({ kb: toolset.url }), toolset };
}

test.each(['anyOf', 'oneOf', 'allOf'])(
  'B78: a tool with %s at the root of its schema, added overnight, breaks no request',
  async (union) => {
    const toolset = await startRawToolset({ tools: [tool('steady', 'in order')] });
    const fleet = await startFleet({ kb: toolset.url });
    expect(await fleet.shown()).toEqual({ steady: 'in order' });
    const branches = [
      { type: 'object', properties: { page: { type: 'string' } }, required: ['page'] },
      { type: 'object', properties: { user: { type: 'integer' } }, required: ['user'] },
    ];
    toolset.tools = [...toolset.tools, withSchema('union', { type: 'object', [union]: branches })];
    toolset.push();
    await fleet.untilGeneration(2);
    const { union: shown } = await parametersOf(fleet);
    expect(shown).toMatchObject({ type: 'object', properties: { page: { type: 'string' }, user: { type: 'integer' } } });
    const turn = await callShown(fleet, [{ name: 'union', args: { page: 'a' } }, { name: 'steady' }]);
    expect(turn.text).toBe('done');
    expect(toolset.received.map(({ args }) => args)).toEqual([{ page: 'a' }, {}]);
  },
);

test('B79: object schemas without properties and arrays without items are accepted, and only the raw schema decides what is a change', async () => {
  const { fleet, toolset } = await serve({
    bare: { type: 'object' },
    nested: { type: 'object', properties: { inner: { type: 'object' }, list: { type: 'array' } } },
  });
  const shown = await parametersOf(fleet);
  expect(shown.bare).toEqual({ type: 'object', properties: {} });
  expect(shown.nested).toEqual({
    type: 'object',
    properties: { inner: { type: 'object', properties: {} }, list: { type: 'array', items: {} } },
  });
  expect((await callShown(fleet, [{ name: 'bare' }])).text).toBe('done');
  expect(toolset.received.map(({ args }) => args)).toEqual([{}]);
  toolset.tools = [withSchema('bare', { type: 'object', properties: {} }), ...toolset.tools.slice(1)];
  toolset.push();
  await fleet.untilGeneration(2);
  expect(fleet.rounds().at(-1)?.changes.changed).toEqual(['bare']);
});

test('B81: references within the schema are resolved, and one that leads nowhere allows anything', async () => {
  const $defs = {
    X: { type: 'string', description: 'X' },
    A: { type: 'object', properties: { b: { $ref: '#/$defs/B' } } },
    B: { type: 'integer' },
  };
  const properties = {
    plain: { $ref: '#/$defs/X' },
    chain: { $ref: '#/$defs/A' },
    old: { $ref: '#/definitions/Y' },
    headers: { type: 'boolean' },
    property: { $ref: '#/properties/headers' },
    sibling: { $ref: '#/$defs/X', description: 'own words' },
    missing: { $ref: '#/$defs/Nope', description: 'kept' },
    anchor: { $ref: '#here' },
    relative: { $ref: 'other.json#/X' },
    number: { $ref: 5, type: 'number' },
  };
  const { fleet } = await serve({ refs: { type: 'object', properties, $defs, definitions: { Y: { type: 'number' } } } });
  const { refs } = await parametersOf(fleet);
  expect(refs?.properties).toEqual({
    plain: { type: 'string', description: 'X' },
    chain: { type: 'object', properties: { b: { type: 'integer' } } },
    old: { type: 'number' },
    headers: { type: 'boolean' },
    property: { type: 'boolean' },
    sibling: { type: 'string', description: 'own words' },
    missing: { description: 'kept' },
    anchor: {},
    relative: {},
    number: { type: 'number' },
  });
});

test('B82: recursion and references that double forty times end, stay small, and are seen when they change', async () => {
  const doubling = (last: string) =>
    Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => {
        const next = { $ref: `#/$defs/d${index + 1}` };
        return [`d${index}`, index === 39 ? { type: 'string', description: last } : { type: 'object', properties: { a: next, b: next } }];
      }),
    );
  const schemas = (last: string) => ({
    tree: {
      type: 'object',
      properties: { root: { $ref: '#/$defs/Node' } },
      $defs: {
        Node: { type: 'object', description: 'A node', properties: { children: { type: 'array', items: { $ref: '#/$defs/Node' } } } },
      },
    },
    mutual: {
      type: 'object',
      properties: { a: { $ref: '#/$defs/A' } },
      $defs: { A: { properties: { b: { $ref: '#/$defs/B' } } }, B: { properties: { a: { $ref: '#/$defs/A' } } } },
    },
    itself: { type: 'object', properties: { again: { $ref: '#' } } },
    doubling: { type: 'object', properties: { p: { $ref: '#/$defs/d0' } }, $defs: doubling(last) },
    bomb: { type: 'object', allOf: Array.from({ length: 20 }, () => ({ $ref: '#/$defs/d0' })), $defs: doubling(last) },
  });
  const { fleet, toolset } = await serve(schemas('one'));
  const shown = await parametersOf(fleet);
  expect(Object.keys(shown).sort()).toEqual(['bomb', 'doubling', 'itself', 'mutual', 'steady', 'tree']);
  for (const parameters of Object.values(shown)) expect(JSON.stringify(parameters).length).toBeLessThan(256 * 1024);
  expect(shown.tree?.properties).toMatchObject({ root: { properties: { children: { type: 'array', items: { description: 'A node' } } } } });
  toolset.tools = [...Object.entries(schemas('two')).map(([name, schema]) => withSchema(name, schema)), tool('steady', 'in order')];
  toolset.push();
  await fleet.untilGeneration(2);
  expect(fleet.rounds().at(-1)?.changes.changed).toEqual(['bomb', 'doubling']);
});

test.each(['legacy', 'modern'] as const)(
  'B82: a schema that is 2 000 levels deep is withheld, and one of 150 levels is cut (%s)',
  async (era) => {
    const nested = (levels: number) => {
      let schema: object = { type: 'string' };
      for (let level = 0; level < levels; level += 1)
        schema = level % 2 === 0 ? { type: 'array', items: schema } : { properties: { a: schema } };
      return { type: 'object', properties: { p: schema } };
    };
    const tools = [withSchema('deep', nested(2_000)), withSchema('less', nested(95)), tool('steady', 'in order')];
    const toolset = await startRawToolset({ era, tools });
    const fleet = await startFleet({ kb: toolset.url });
    expect(Object.keys(await fleet.shown())).toEqual(['less', 'steady']);
    expect((await connectionsOf(fleet)).withheld).toEqual([
      { toolset: 'kb', tool: 'deep', reason: expect.stringContaining('deeper than') },
    ]);
  },
);

test('B83: every schema gets one scalar type, and null is left out', async () => {
  const { fleet } = await serve({
    types: {
      type: ['object', 'null'],
      properties: {
        a: { type: ['string', 'null'] },
        b: { type: ['array', 'null'], items: { type: 'number' } },
        c: { type: 'array', items: true },
        d: { enum: [null] },
        e: { const: 'x' },
        f: true,
        g: false,
        h: { type: ['string', 'integer'] },
        i: { type: 'string', nullable: true },
        j: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      },
    },
  });
  expect((await parametersOf(fleet)).types?.properties).toEqual({
    a: { type: 'string' },
    b: { type: 'array', items: { type: 'number' } },
    c: { type: 'array', items: {} },
    d: {},
    e: { type: 'string', enum: ['x'] },
    f: {},
    g: {},
    h: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
    i: { type: 'string' },
    j: { type: 'string' },
  });
});

test('B85: whatever $schema says, the tool is usable and nothing is fetched; a change of $schema alone is a change of the raw schema', async () => {
  const elsewhere = await listener();
  const schema = (dialect: unknown) => ({ $schema: dialect, type: 'object', properties: { q: { type: 'string' } } });
  const dialects = {
    draft07: 'http://json-schema.org/draft-07/schema#',
    draft2020: 'https://json-schema.org/draft/2020-12/schema',
    own: `${elsewhere.url}/s`,
    number: 42,
  };
  const { fleet, toolset } = await serve(Object.fromEntries(Object.entries(dialects).map(([name, dialect]) => [name, schema(dialect)])));
  const turn = await callShown(
    fleet,
    Object.keys(dialects).map((name) => ({ name, args: { q: name } })),
  );
  expect(turn.text).toBe('done');
  expect(toolset.received).toHaveLength(4);
  expect(elsewhere.requests()).toBe(0);
  toolset.tools = [withSchema('draft07', schema('https://json-schema.org/draft/2019-09/schema')), ...toolset.tools.slice(1)];
  toolset.push();
  await fleet.untilGeneration(2);
  expect(fleet.rounds().at(-1)?.changes.changed).toEqual(['draft07']);
});

test('B86: a reference to another document is never fetched, and only its own place loses what it would have said', async () => {
  const elsewhere = await listener();
  const remote = { $ref: `${elsewhere.url}/x.json`, description: 'kept' };
  const toolset = await startRawToolset({
    tools: [
      withSchema(
        'remote',
        { type: 'object', properties: { p: remote, list: { type: 'array', items: remote } } },
        { outputSchema: { type: 'object', properties: { r: remote } } },
      ),
      withSchema('root', { type: 'object', ...remote }),
      tool('steady', 'in order'),
    ],
  });
  toolset.calls.set('remote', () => ({ content: [{ type: 'text', text: '{}' }], structuredContent: { r: 1 } }));
  const fleet = await startFleet({ kb: toolset.url });
  expect((await parametersOf(fleet)).remote?.properties).toEqual({
    p: { description: 'kept' },
    list: { type: 'array', items: { description: 'kept' } },
  });
  expect((await callShown(fleet, [{ name: 'remote', args: { p: 1 } }, { name: 'root' }, { name: 'steady' }])).text).toBe('done');
  expect(toolset.received).toHaveLength(3);
  expect(elsewhere.requests()).toBe(0);
});

test('property names that providers refuse are mapped back in the call, at every depth, and data stays data', async () => {
  const filter = {
    type: 'object',
    properties: { 'filter[id]': { type: 'string' }, $ref_to: { type: 'string' } },
    required: ['filter[id]'],
  };
  const { fleet, toolset } = await serve({
    find: {
      type: 'object',
      properties: {
        '@type': { type: 'string' },
        'sort by': { type: 'array', items: filter },
        'x.y-z_1': { type: 'string' },
        either: { oneOf: [filter, { type: 'object', properties: { größe: { type: 'number' } } }] },
        ['long'.repeat(20)]: { type: 'string' },
        map: { type: 'object', additionalProperties: filter },
        free: { type: 'object' },
        tuple: { type: 'array', prefixItems: [{ type: 'string' }, filter] },
      },
      required: ['@type'],
    },
  });
  const shown = (await parametersOf(fleet)).find as Json;
  expect(refusalOf(shown)).toBeUndefined();
  const properties = Object.keys(shown.properties as Json);
  const long = String(properties.find((name) => name.startsWith('longlong')));
  const inner = (shown.properties as { sort_by: { items: { properties: Json } } }).sort_by.items.properties;
  const [id, dollar] = Object.keys(inner) as [string, string];
  const { anyOf } = (shown.properties as { either: { anyOf: { properties: Json }[] } }).either;
  const umlaut = String(Object.keys(anyOf[1]?.properties ?? {})[0]);
  expect(umlaut).toMatch(/^gr/);
  const args = {
    _type: 't',
    sort_by: [{ [id]: '1' }, { [id]: '2', [dollar]: 'r' }],
    'x.y-z_1': 'as it is',
    either: { [umlaut]: 1 },
    [long]: 'l',
    map: { [id]: { [id]: '3' } },
    free: { [id]: 'data', _type: 'data' },
    tuple: ['s', { [id]: '4' }],
  };
  expect((await callShown(fleet, [{ name: 'find', args }])).text).toBe('done');
  expect(toolset.received[0]?.args).toEqual({
    '@type': 't',
    'sort by': [{ 'filter[id]': '1' }, { 'filter[id]': '2', $ref_to: 'r' }],
    'x.y-z_1': 'as it is',
    either: { größe: 1 },
    ['long'.repeat(20)]: 'l',
    map: { [id]: { 'filter[id]': '3' } },
    free: { [id]: 'data', _type: 'data' },
    tuple: ['s', { 'filter[id]': '4' }],
  });
});

/** Legal or not, a toolset may send any of these; each is the schema of the property `p` of one tool. */
const ODD: Readonly<Record<string, unknown>> = {
  patternProperties: { type: 'object', patternProperties: { '^x': { type: 'string' } }, additionalProperties: false },
  'if/then/else': {
    type: 'object',
    properties: { a: {} },
    ...JSON.parse('{"if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]},"else":{"required":["c"]}}'),
  },
  not: { not: { type: 'string' } },
  dependentSchemas: {
    type: 'object',
    properties: { a: {} },
    dependentSchemas: { a: { properties: { b: {} } } },
    dependentRequired: { a: ['b'] },
  },
  unevaluatedProperties: { type: 'object', unevaluatedProperties: false, unevaluatedItems: false },
  'a huge enum': { enum: Array.from({ length: 5_000 }, (_, index) => `value ${index}`) },
  'an enum of objects': { enum: [{ a: 1 }, [2]] },
  'an empty enum': { type: 'string', enum: [] },
  'a format nobody knows': { type: 'string', format: 'no-such-format' },
  'a default of another type': { type: 'string', default: { a: [1] } },
  'a default of null': { type: 'integer', default: null },
  nullable: { type: 'string', nullable: true },
  'draft 4 bounds': { type: 'integer', minimum: 1, exclusiveMinimum: true, maximum: 5, exclusiveMaximum: false },
  'draft 3 required': { type: 'string', required: true, divisibleBy: 2 },
  'type foo': { type: 'foo', description: 'd' },
  'type any': { type: 'any' },
  'a type in capitals': { type: 'STRING' },
  'no type': { description: 'd' },
  'an empty type': { type: [] },
  'a type that is an object': { type: { type: 'string' } },
  'a tuple': { type: 'array', prefixItems: [{ type: 'string' }, true], items: false },
  'an old tuple': { type: 'array', items: [{ type: 'string' }, { type: 'integer' }], additionalItems: false },
  contains: { type: 'array', contains: { const: 1 }, minContains: 1, uniqueItems: 'yes' },
  propertyNames: { type: 'object', propertyNames: { pattern: '^x' }, minProperties: -1 },
  'properties that are an array': { type: 'object', properties: [{ type: 'string' }] },
  'a property that is a string': { type: 'object', properties: { a: 'string', b: null, c: 5 } },
  'required that is no list': { type: 'object', properties: { a: {} }, required: 'a' },
  'examples and annotations': {
    type: 'string',
    examples: ['a'],
    deprecated: true,
    readOnly: true,
    writeOnly: true,
    contentEncoding: 'base64',
    discriminator: {},
  },
  dynamic: { $dynamicRef: '#node', $dynamicAnchor: 'node', $recursiveRef: '#', $vocabulary: {} },
  'a broken pattern': { type: 'string', pattern: '([' },
  'numbers as text': { type: 'string', minLength: '3', maxLength: 2.5 },
  'a union of nothing': { anyOf: [] },
  'a union that is no list': { oneOf: { type: 'string' } },
  'a union in a union': { anyOf: [{ oneOf: [{ type: 'string' }, { type: 'null' }] }, { allOf: [{ type: 'integer' }] }] },
};

test('any schema that a toolset may send reaches a strict provider, with the property that it is about', async () => {
  const names = Object.keys(ODD);
  const { fleet, toolset } = await serve(
    Object.fromEntries(
      names.map((name, index) => [`t${index}`, { type: 'object', properties: { p: ODD[name], q: { type: 'string' } }, required: ['p'] }]),
    ),
  );
  const shown = await parametersOf(fleet);
  expect(Object.keys(shown)).toHaveLength(names.length + 1);
  for (const [index, name] of names.entries()) {
    const parameters = shown[`t${index}`] as { properties: Json; required: string[] };
    expect([name, Object.keys(parameters.properties), parameters.required]).toEqual([name, ['p', 'q'], ['p']]);
  }
  await callShown(fleet, [{ name: 't0', args: { p: { x1: 'a' }, q: 'b' } }]);
  expect(toolset.received[0]?.args).toEqual({ p: { x1: 'a' }, q: 'b' });
});

/** A server that must not be asked. */
async function listener(): Promise<{ url: string; requests(): number }> {
  let requests = 0;
  const http = await serveLoopback((_request, response) => {
    requests += 1;
    response.end('{}');
  });
  onCleanup(() => http.close());
  return { url: http.origin, requests: () => requests };
}
