import fc from 'fast-check';
import { projectSchema } from '../../src/core/tool-schema.js';
import { refusalOf } from '../support/strict-provider.js';
import { anySchema } from '../support/tool-arbitraries.js';

/** A walk without bounds would take hours; a bounded one takes a tenth of this on a busy machine. */
const BOUND_MS = 2_000;

/** What becomes of one property. */
function projected(property: unknown, more: Record<string, unknown> = {}): unknown {
  return (projectSchema({ type: 'object', properties: { p: property }, ...more }).schema.properties as Record<string, unknown>).p;
}

describe('projecting a schema for providers (6.3)', () => {
  it.each<[string, unknown, unknown]>([
    ['nothing', undefined, { type: 'object', properties: {} }],
    ['true', true, { type: 'object', properties: {} }],
    ['an object without properties', { type: 'object' }, { type: 'object', properties: {} }],
    ['properties without a type', { properties: { a: { type: 'string' } } }, { type: 'object', properties: { a: { type: 'string' } } }],
    [
      'meta keywords',
      { $schema: 'x', $id: 'y', $anchor: 'z', $comment: 'c', $defs: {}, definitions: {} },
      { type: 'object', properties: {} },
    ],
    [
      'a required name without a property',
      { properties: { a: {} }, required: ['a', 'b', 'a', 1] },
      { type: 'object', properties: { a: {} }, required: ['a'] },
    ],
    ['no additional properties', { additionalProperties: false }, { type: 'object', properties: {}, additionalProperties: false }],
    ['additional properties of any kind', { additionalProperties: true }, { type: 'object', properties: {} }],
    ['names by pattern', { additionalProperties: false, patternProperties: { a: {} } }, { type: 'object', properties: {} }],
    [
      'a reference at the root',
      { $ref: '#/$defs/A', $defs: { A: { properties: { a: { type: 'string' } } } } },
      { type: 'object', properties: { a: { type: 'string' } } },
    ],
  ])('gives the root its form: %s', (_, input, schema) => {
    expect(projectSchema(input).schema).toEqual(schema);
  });

  it('folds a root anyOf: the properties of all branches, required where each branch requires it', () => {
    const branch = (kind: string, more: string[]) => ({
      type: 'object',
      properties: { kind: { const: kind }, id: { type: 'string' }, [kind]: { type: 'integer' } },
      required: ['kind', ...more],
    });
    expect(
      projectSchema({ description: 'd', anyOf: [branch('page', ['id']), branch('user', []), { type: 'null' }, { type: 'string' }, false] })
        .schema,
    ).toEqual({
      type: 'object',
      description: 'd',
      properties: {
        kind: { type: 'string', enum: ['page', 'user'] },
        id: { type: 'string' },
        page: { type: 'integer' },
        user: { type: 'integer' },
      },
      required: ['kind'],
    });
  });

  it('folds a root oneOf that only says which names are required', () => {
    const schema = {
      type: 'object',
      properties: { a: {}, b: {}, c: {} },
      required: ['c'],
      oneOf: [{ required: ['a'] }, { required: ['b'] }],
    };
    expect(projectSchema(schema).schema).toEqual({ type: 'object', properties: { a: {}, b: {}, c: {} }, required: ['c'] });
  });

  it('offers each branch when they disagree about a property', () => {
    const schema = {
      oneOf: [{ properties: { a: { type: 'string' } } }, { properties: { a: { type: 'array', items: { type: 'number' } } } }],
    };
    expect(projectSchema(schema).schema).toEqual({
      type: 'object',
      properties: { a: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'number' } }] } },
    });
  });

  it('shows properties that hold under a condition only, and requires none of them', () => {
    const conditional = JSON.parse(
      '{"properties":{"kind":{"type":"string"}},"required":["kind"],"additionalProperties":false,"if":{"properties":{"kind":{"const":"a"}}},' +
        '"then":{"properties":{"a":{"type":"number"}},"required":["a"]},"else":{"properties":{"b":{"type":"boolean"},"kind":{"type":"number"}}},' +
        '"dependentSchemas":{"kind":{"properties":{"c":{"type":"integer"}},"required":["c"]}}}',
    );
    expect(projectSchema(conditional).schema).toEqual({
      type: 'object',
      properties: { kind: { type: 'string' }, a: { type: 'number' }, b: { type: 'boolean' }, c: { type: 'integer' } },
      required: ['kind'],
    });
  });

  it('merges a root allOf', () => {
    const schema = {
      allOf: [{ $ref: '#/$defs/Base' }, { properties: { b: { type: 'number' } }, required: ['b'] }],
      $defs: { Base: { properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false } },
      description: 'own',
    };
    expect(projectSchema(schema).schema).toEqual({
      type: 'object',
      description: 'own',
      properties: { a: { type: 'string' }, b: { type: 'number' } },
      required: expect.arrayContaining(['a', 'b']),
    });
  });

  it.each<[string, unknown, unknown]>([
    ['a nullable string', { type: ['string', 'null'], minLength: 1 }, { type: 'string', minLength: 1 }],
    ['a nullable array', { type: ['array', 'null'], items: { type: 'number' } }, { type: 'array', items: { type: 'number' } }],
    [
      'two types',
      { type: ['string', 'number'], minLength: 2, minimum: 3, title: 't' },
      {
        title: 't',
        anyOf: [
          { type: 'string', minLength: 2 },
          { type: 'number', minimum: 3 },
        ],
      },
    ],
    ['only null', { type: 'null', description: 'd' }, { description: 'd' }],
    ['an unknown type', { type: 'foo' }, {}],
    ['an array without items', { type: 'array' }, { type: 'array', items: {} }],
    ['an array of anything', { type: 'array', items: true }, { type: 'array', items: {} }],
    [
      'a tuple',
      { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] },
      { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'number' }] } },
    ],
    ['an old tuple', { type: 'array', items: [{ type: 'string' }, { type: 'string' }] }, { type: 'array', items: { type: 'string' } }],
    ['a constant', { const: 'x' }, { type: 'string', enum: ['x'] }],
    ['a constant number', { type: 'number', const: 5 }, { type: 'number', enum: [5] }],
    ['an enum with null', { type: ['string', 'null'], enum: ['a', null, 'a'] }, { type: 'string', enum: ['a'] }],
    ['an enum of null', { enum: [null] }, {}],
    [
      'an enum of several types',
      { enum: ['a', 1] },
      {
        anyOf: [
          { type: 'string', enum: ['a'] },
          { type: 'integer', enum: [1] },
        ],
      },
    ],
    [
      'an optional union',
      { anyOf: [{ type: 'string', description: 'in' }, { type: 'null' }], default: null, description: 'out' },
      { type: 'string', description: 'out' },
    ],
    ['a union with anything', { anyOf: [{ type: 'string' }, {}] }, {}],
    [
      'a nested union of objects',
      { type: 'object', anyOf: [{ properties: { a: {} } }, { properties: { b: {} } }] },
      { type: 'object', properties: { a: {}, b: {} } },
    ],
    ['true', true, {}],
    ['keywords that no validator accepts', { type: 'integer', minimum: '1', exclusiveMaximum: true, multipleOf: 0 }, { type: 'integer' }],
    ['a pattern of another dialect', { type: 'string', pattern: '(?P<x>a)', maxLength: -1 }, { type: 'string' }],
    ['a default of another type', { type: 'string', default: 3 }, { type: 'string' }],
    ['a default that fits', { type: 'boolean', default: false }, { type: 'boolean', default: false }],
    ['a text that is no text', { type: 'string', description: 5, title: [] }, { type: 'string' }],
    ['what the form cannot say', { type: 'string', not: { const: 'x' }, if: {}, else: {}, readOnly: true }, { type: 'string' }],
  ])('gives one scalar type to %s', (_, property, expected) => {
    expect(projected(property)).toEqual(expected);
  });

  it.each<[string, unknown, unknown]>([
    ['$defs', { $ref: '#/$defs/X' }, { type: 'string', description: 'X' }],
    ['definitions', { $ref: '#/definitions/Y' }, { type: 'number' }],
    ['a chain', { $ref: '#/$defs/ToX' }, { type: 'string', description: 'X' }],
    ['a property', { $ref: '#/properties/headers' }, { type: 'boolean' }],
    ['an escaped name', { $ref: '#/$defs/a~1b%20c' }, { type: 'integer' }],
    ['__proto__', { $ref: '#/$defs/__proto__' }, {}],
    ['words beside the reference', { $ref: '#/$defs/X', description: 'own' }, { type: 'string', description: 'own' }],
    ['a place that does not exist', { $ref: '#/$defs/Nope', description: 'own' }, { description: 'own' }],
    ['another document', { $ref: 'http://127.0.0.1:1/x.json', title: 'own' }, { title: 'own' }],
    ['a stray percent sign', { $ref: '#/$defs/%' }, {}],
    ['an anchor', { $ref: '#here' }, { type: 'array', items: {} }],
    ['an anchor that does not exist', { $ref: '#nowhere' }, {}],
    ['a dynamic anchor', { $dynamicRef: '#there' }, { type: 'boolean' }],
    ['an address inside the document', { $ref: 'item.json' }, { type: 'integer', title: 'item' }],
    ['a place at an address inside the document', { $ref: 'item.json#/$defs/part' }, { type: 'number' }],
    ["the document's own address", { $ref: 'https://example.com/root#/$defs/X' }, { type: 'string', description: 'X' }],
    ['a chain that ends in itself', { $ref: '#/$defs/Loop' }, { description: 'round' }],
    ['a reference that is no text', { $ref: 5, type: 'string' }, { type: 'string' }],
  ])('resolves references: %s', (_, property, expected) => {
    const $defs = {
      X: { type: 'string', description: 'X' },
      ToX: { $ref: '#/$defs/X' },
      'a/b c': { type: 'integer' },
      Loop: { $ref: '#/$defs/Loop', description: 'round' },
      here: { $anchor: 'here', type: 'array' },
      there: { $dynamicAnchor: 'there', type: 'boolean' },
      item: { $id: 'item.json', type: 'integer', title: 'item', $defs: { part: { type: 'number' } } },
    };
    const root = {
      $id: 'https://example.com/root',
      properties: { p: property, headers: { type: 'boolean' } },
      $defs,
      definitions: { Y: { type: 'number' } },
    };
    expect((projectSchema(root).schema.properties as Record<string, unknown>).p).toEqual(expected);
  });

  it('stops at recursion and keeps what the schema is about', () => {
    const Node = { type: 'object', description: 'A node', properties: { children: { type: 'array', items: { $ref: '#/$defs/Node' } } } };
    expect(projected({ $ref: '#/$defs/Node' }, { $defs: { Node } })).toEqual({
      ...Node,
      properties: { children: { type: 'array', items: { description: 'A node' } } },
    });
    const A = { type: 'object', properties: { b: { $ref: '#/$defs/B' } } };
    const B = { type: 'object', properties: { a: { $ref: '#/$defs/A' }, root: { $ref: '#' } } };
    expect(projected({ $ref: '#/$defs/A' }, { $defs: { A, B } })).toEqual({
      type: 'object',
      properties: { b: { type: 'object', properties: { a: {}, root: {} } } },
    });
  });

  it.each<[string, (next: object) => object]>([
    ['properties', (next) => ({ type: 'object', properties: { a: next, b: next } })],
    ['allOf', (next) => ({ allOf: [next, next] })],
    ['anyOf', (next) => ({ anyOf: [next, next, { type: 'string' }] })],
    ['conditions', (next) => ({ type: 'object', ...Object.fromEntries(['then', 'else', 'dependentSchemas'].map((key) => [key, next])) })],
    ['tuples', (next) => ({ type: 'array', items: [next, next] })],
  ])('bounds time and size when 40 definitions name each other twice in %s', (_, define) => {
    const $defs = Object.fromEntries(Array.from({ length: 40 }, (__, index) => [`d${index}`, define({ $ref: `#/$defs/d${index + 1}` })]));
    const startedAt = performance.now();
    const { schema } = projectSchema({ properties: { p: { $ref: '#/$defs/d0' } }, $defs });
    expect(performance.now() - startedAt).toBeLessThan(BOUND_MS);
    expect(JSON.stringify(schema).length).toBeLessThan(128 * 1024);
    expect(refusalOf(schema)).toBeUndefined();
  });

  it.each<[string, unknown]>([
    ['a large enum that is named 1000 times', manyRefs({ enum: Array.from({ length: 5_000 }, (_, index) => `value ${index}`) })],
    [
      'a large object that is named 1000 times',
      manyRefs({ properties: Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`p${index}`, {}])) }),
    ],
    ['an allOf with 60 000 parts', { allOf: Array.from({ length: 60_000 }, () => ({ minimum: 1 })) }],
    [
      'an anyOf with 8000 branches',
      { anyOf: Array.from({ length: 8_000 }, (_, index) => ({ properties: { [`p${index % 9}`]: { enum: [index] } } })) },
    ],
    ['2000 nested arrays', nested((inner) => ({ type: 'array', items: inner }))],
    ['2000 nested unions', nested((inner) => ({ anyOf: [inner, { type: 'string' }] }))],
    ['2000 nested conditions', nested((inner) => ({ properties: { a: {} }, else: inner }))],
    ['2000 nested allOf', nested((inner) => ({ allOf: [inner] }))],
    ['2000 nested objects', nested((inner) => ({ properties: { a: inner } }))],
  ])('bounds time and size for %s', (_, input) => {
    const startedAt = performance.now();
    const { schema } = projectSchema(input);
    expect(performance.now() - startedAt).toBeLessThan(BOUND_MS);
    expect(JSON.stringify(schema).length).toBeLessThan(384 * 1024);
    expect(refusalOf(schema)).toBeUndefined();
  });

  it('is accepted by a strict provider, whatever the schema', () => {
    fc.assert(
      fc.property(anySchema, (input) => {
        expect(refusalOf(projectSchema(input).schema)).toBeUndefined();
      }),
      { numRuns: 1_000 },
    );
  });

  it('changes nothing in a schema that has the form already', () => {
    fc.assert(
      fc.property(anySchema, (input) => {
        const { schema } = projectSchema(input);
        expect(projectSchema(schema).schema).toEqual(schema);
      }),
    );
  });
});

function manyRefs(definition: object): unknown {
  const properties = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`r${index}`, { $ref: '#/$defs/Big' }]));
  return { properties, $defs: { Big: definition } };
}

function nested(wrap: (inner: object) => object): unknown {
  let schema: object = { type: 'string' };
  for (let level = 0; level < 2_000; level += 1) schema = wrap(schema);
  return { properties: { p: schema } };
}
