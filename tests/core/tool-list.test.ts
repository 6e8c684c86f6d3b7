import fc from 'fast-check';
import { CodedError } from '../../src/core/errors.js';
import { digestOfTool } from '../../src/core/tool-digest.js';
import { judgeTools } from '../../src/core/tool-list.js';
import { anyJson, toolOf } from '../support/tool-arbitraries.js';

/** JSON with `levels` arrays inside each other, built as a parser would build it from a hostile answer. */
function nested(levels: number): unknown {
  let value: unknown = 'bottom';
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof CodedError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'no error';
}

describe('judging a tool list (6.2, 14.1)', () => {
  it.each([
    ['null', null, 'Entry 1 of the tool list is null'],
    ['a string', 'secret-token', 'Entry 1 of the tool list is a string'],
    ['an array', [], 'Entry 1 of the tool list is an array'],
    ['an object without a name', { description: 'secret-token' }, 'Entry 1 of the tool list has no name'],
    ['a number as name', { name: 42 }, 'The name of entry 1 of the tool list is a number'],
    ['an empty name', { name: '' }, 'The name of entry 1 of the tool list is empty'],
  ])('finds the whole list malformed when an entry is %s', (_, entry, message) => {
    const error = codeOf(() => judgeTools([toolOf('good'), entry]));
    expect(error).toContain(`LIST_MALFORMED: ${message}`);
    expect(error).not.toContain('secret-token');
  });

  it('refuses more than 5000 tools and accepts 5000', () => {
    const tools = Array.from({ length: 5_000 }, (_, index) => toolOf(`tool${index}`));
    expect(judgeTools(tools).tools).toHaveLength(5_000);
    expect(codeOf(() => judgeTools([...tools, toolOf('one-more')]))).toContain('LIST_TOO_LARGE');
  });

  it.each([
    ['no inputSchema', { inputSchema: undefined }, 'no inputSchema'],
    ['null as inputSchema', { inputSchema: null }, 'inputSchema is null'],
    ['an array as inputSchema', { inputSchema: [] }, 'inputSchema is an array'],
    ['a root type other than object', { inputSchema: { type: 'string' } }, "not 'object'"],
    ['a list of root types without object', { inputSchema: { type: ['string', 'null'] } }, "not 'object'"],
    ['a schema over 256 kB', { inputSchema: { type: 'object', description: 'é'.repeat(131_072) } }, 'inputSchema has 262'],
    ['a description over 64 kB', { description: 'é'.repeat(32_769) }, 'description has 65538 bytes'],
    ['null as description', { description: null }, 'description is null'],
    ['a schema nested too deep', { inputSchema: { type: 'object', default: nested(100_000) } }, 'nested deeper than 200'],
    ['an output schema nested too deep', { outputSchema: nested(201) }, 'nested deeper than 200'],
    ['view data nested too deep', { _meta: { ui: nested(100_000) } }, 'nested deeper than 200'],
  ])('withholds a tool with %s, and only that one', (_, fields, reason) => {
    const { tools, withheld } = judgeTools([toolOf('bad', fields), toolOf('good')]);
    expect(tools.map(({ name }) => name)).toEqual(['good']);
    expect(withheld).toEqual([{ tool: 'bad', reason: expect.stringContaining(reason) }]);
  });

  it.each([
    ['properties without a type', { inputSchema: { properties: { a: {} } } }],
    ['a root union without a type', { inputSchema: { anyOf: [{ type: 'object' }] } }],
    ['a list of root types with object', { inputSchema: { type: ['object', 'null'] } }],
    ['an output schema whose references lead nowhere', { outputSchema: { properties: { x: { $ref: '#/$defs/Nope' } } } }],
    ['a schema nested 200 levels deep', { outputSchema: nested(200) }],
    ['a description of 64 kB', { description: 'x'.repeat(65_536) }],
  ])('keeps a tool with %s', (_, fields) => {
    expect(judgeTools([toolOf('tool', fields)])).toMatchObject({ tools: [{ name: 'tool' }], withheld: [] });
  });

  it('keeps one of three namesakes, the same one in any order, and withholds the others', () => {
    const namesakes = [toolOf('a', { description: 'one' }), toolOf('a', { description: 'two' }), toolOf('a', { description: 'three' })];
    const smallest = namesakes.toSorted((a, b) => (digestOfTool(a) < digestOfTool(b) ? -1 : 1))[0];
    for (const order of [namesakes, namesakes.toReversed()]) {
      const { tools, withheld } = judgeTools(order);
      expect(tools).toEqual([smallest]);
      expect(withheld.map(({ tool }) => tool)).toEqual(['a', 'a']);
    }
  });

  it('keeps the namesake that can be shown, whatever the digest of the other is', () => {
    for (let salt = 0; salt < 8; salt += 1) {
      const { tools } = judgeTools([toolOf('a', { inputSchema: null, title: `${salt}` }), toolOf('a', { title: 'good' })]);
      expect(tools).toMatchObject([{ name: 'a', title: 'good' }]);
    }
  });

  it('treats the names of inherited members like any other name', () => {
    const names = ['__proto__', 'constructor', 'hasOwnProperty', 'toString'];
    const { tools, digests } = judgeTools(names.map((name) => toolOf(name)));
    expect(tools.map(({ name }) => name)).toEqual(names);
    expect([...digests.keys()]).toEqual(names);
    expect(Object.hasOwn(Object.prototype, 'inputSchema')).toBe(false);
  });

  it('gives the same result for any order of any entries, and loses none', () => {
    const entry = fc
      .record({ name: fc.constantFrom('a', 'b', '__proto__'), description: anyJson, inputSchema: anyJson }, { requiredKeys: ['name'] })
      .chain((tool) => fc.constant(tool));
    fc.assert(
      fc.property(
        fc
          .array(entry, { maxLength: 6 })
          .chain((entries) => fc.tuple(fc.constant(entries), fc.shuffledSubarray(entries, { minLength: entries.length }))),
        ([entries, shuffled]) => {
          const judged = judgeTools(entries);
          const again = judgeTools(shuffled);
          expect(again.tools.map(digestOfTool)).toEqual(judged.tools.map(digestOfTool));
          expect(again.withheld).toEqual(judged.withheld);
          expect(again.allDigests).toEqual(judged.allDigests);
          expect(judged.tools.length + judged.withheld.length).toBe(entries.length);
        },
      ),
    );
  });
});
