import fc from 'fast-check';
import { geminiSchema } from '../../src/core/gemini-schema.js';
import { projectSchema } from '../../src/core/tool-schema.js';
import { refusalOf } from '../support/strict-provider.js';
import { anySchema } from '../support/tool-arbitraries.js';

/** What becomes of one projected property. */
function narrowed(property: unknown): unknown {
  const { properties } = geminiSchema(projectSchema({ properties: { p: property } }).schema);
  return (properties as Record<string, unknown>).p;
}

describe('the form of Gemini (6.3)', () => {
  it.each<[string, unknown, unknown]>([
    ['numbers as values', { enum: [1, 2], description: 'How.' }, { type: 'integer', description: 'How. Allowed values: 1, 2.' }],
    ['the empty string as a value', { enum: ['', 'a'] }, { type: 'string', description: 'Allowed values: "", "a".' }],
    ['strings as values', { enum: ['a', 'b'], default: 'a' }, { type: 'string', enum: ['a', 'b'], default: 'a' }],
    [
      'an exclusive bound of an integer',
      { type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 2.5 },
      { type: 'integer', minimum: 1, maximum: 2 },
    ],
    ['two bounds', { type: 'integer', minimum: 5, exclusiveMinimum: 1 }, { type: 'integer', minimum: 5 }],
    ['an exclusive bound of a number', { type: 'number', exclusiveMinimum: 0, multipleOf: 2 }, { type: 'number', minimum: 0 }],
    ['a format', { type: 'string', format: 'uri' }, { type: 'string', description: 'Format: uri.' }],
    ['a moment', { type: 'string', format: 'date-time' }, { type: 'string', format: 'date-time' }],
    ['a set', { type: 'array', items: { type: 'string' }, uniqueItems: true }, { type: 'array', items: { type: 'string' } }],
    ['a map', { type: 'object', additionalProperties: { type: 'string' } }, { type: 'object', properties: {} }],
    [
      'a union with words beside it',
      { title: 'T', description: 'D', anyOf: [{ type: 'string', description: 'own' }, { type: 'number' }] },
      {
        anyOf: [
          { type: 'string', description: 'own' },
          { type: 'number', description: 'T: D' },
        ],
      },
    ],
  ])('says %s in other words', (_, property, expected) => {
    expect(narrowed(property)).toEqual(expected);
  });

  it('gives "anything" the types that there are', () => {
    expect(narrowed({ description: 'D' })).toEqual({
      anyOf: expect.arrayContaining([
        { type: 'string', description: 'D' },
        { type: 'object', properties: {}, description: 'D' },
      ]),
    });
  });

  it('is accepted by Gemini, with the same properties, whatever the schema', () => {
    fc.assert(
      fc.property(anySchema, (input) => {
        const { schema } = projectSchema(input);
        const narrow = geminiSchema(schema);
        expect(refusalOf(narrow, 'gemini')).toBeUndefined();
        expect(Object.keys(narrow.properties as object)).toEqual(Object.keys(schema.properties as object));
      }),
      { numRuns: 500 },
    );
  });
});
