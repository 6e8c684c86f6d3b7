import fc from 'fast-check';
import { projectSchema } from '../../src/core/tool-schema.js';
import { refusalOf } from '../support/strict-provider.js';

describe('property names (6.3)', () => {
  it('replaces illegal names and maps them back at every depth', () => {
    const item = { type: 'object', properties: { '@id': { type: 'string' }, plain: {} }, required: ['@id'] };
    const { schema, unmapArgs } = projectSchema({
      properties: { $filter: { type: 'string' }, 'a b': { type: 'array', items: item }, u: { anyOf: [{ type: 'string' }, item] } },
      required: ['$filter'],
      additionalProperties: item,
    });
    expect(refusalOf(schema)).toBeUndefined();
    expect(schema).toMatchObject({ properties: { _filter: {}, a_b: { items: { required: ['_id'] } } }, required: ['_filter'] });
    expect(unmapArgs({ _filter: 'x', a_b: [{ _id: '1', plain: 2 }], u: { _id: '3' }, other: { _id: '4', _filter: { _id: '5' } } })).toEqual(
      {
        $filter: 'x',
        'a b': [{ '@id': '1', plain: 2 }],
        u: { '@id': '3' },
        // A key that the schema does not name there is data, and stays as it is.
        other: { '@id': '4', _filter: { _id: '5' } },
      },
    );
  });

  it('keeps names apart that become equal, and never takes a name that is there', () => {
    const names = ['a b', 'a.b', 'a_b', 'a/b', 'ä', 'x'.repeat(65), `${'x'.repeat(65)}y`];
    const { schema, unmapArgs } = projectSchema({ properties: Object.fromEntries(names.map((name) => [name, { title: name }])) });
    const shown = Object.entries(schema.properties as Record<string, { title: string }>);
    expect(new Set(shown.map(([name]) => name)).size).toBe(names.length);
    for (const [name, { title }] of shown) expect(unmapArgs({ [name]: 1 })).toEqual({ [title]: 1 });
    expect(shown.map(([name]) => name)).toEqual(expect.arrayContaining(['a.b', 'a_b', '_']));
  });

  it('maps a property that is called __proto__ without touching a prototype', () => {
    const input = JSON.parse('{"properties":{"__proto__":{"type":"string"},"constructor":{"type":"number"}},"required":["__proto__"]}');
    const { schema, unmapArgs } = projectSchema(input);
    const names = Object.keys(schema.properties as object);
    expect(names).not.toContain('__proto__');
    expect(names).toContain('constructor');
    const shown = names.find((name) => name !== 'constructor') as string;
    const args = unmapArgs({ [shown]: 'polluted' });
    expect(JSON.stringify(args)).toBe('{"__proto__":"polluted"}');
    expect(Object.getPrototypeOf(args)).toBe(Object.prototype);
  });

  it('maps every property back, whatever the names', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ minLength: 1, unit: 'binary' }), { maxLength: 6 }), (names) => {
        const { schema, unmapArgs } = projectSchema({
          properties: Object.fromEntries(names.map((name, index) => [name, { title: `${index}` }])),
        });
        const args = Object.fromEntries(
          Object.entries(schema.properties as Record<string, { title: string }>).map(([shown, { title }]) => [shown, Number(title)]),
        );
        expect(Object.entries(unmapArgs(args)).sort()).toEqual(names.map((name, index) => [name, index] as const).toSorted());
      }),
    );
  });
});
