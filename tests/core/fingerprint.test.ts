import { isDeepStrictEqual } from 'node:util';
import { tool as langchainTool } from '@langchain/core/tools';
import fc from 'fast-check';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import { fingerprint, fingerprintOfCatalog, fingerprintOfToolset } from '../../src/core/fingerprint.js';
import type { ToolDefinition } from '../../src/core/tool.js';
import { canonicalText, digestOfTool } from '../../src/core/tool-digest.js';
import { anyJson, anySchema, toolOf, withShuffledKeys } from '../support/tool-arbitraries.js';

function parsed(text: string): ToolDefinition {
  return JSON.parse(text) as ToolDefinition;
}

describe('the digest of a tool (5.1, 5.2)', () => {
  const base = toolOf('search', {
    title: 'Search',
    description: 'Searches.',
    inputSchema: {
      type: 'object',
      properties: { q: { type: 'string', description: 'Query', enum: ['a', 'b'], default: 'a' }, n: { type: 'number' } },
      required: ['q', 'n'],
      additionalProperties: false,
    },
    outputSchema: { type: 'object', properties: {} },
    annotations: { readOnlyHint: true },
    _meta: { ui: { resourceUri: 'ui://kb/a' } },
  });

  it('is written sha256- and 64 hexadecimal digits', () => {
    expect(digestOfTool(base)).toMatch(/^sha256-[0-9a-f]{64}$/);
  });

  it.each<[string, (tool: ReturnType<typeof structuredClone<typeof base>>) => unknown]>([
    ['the name', (tool) => ({ ...tool, name: 'search2' })],
    ['the title', (tool) => ({ ...tool, title: 'Find' })],
    ['the description', (tool) => ({ ...tool, description: 'Searches!' })],
    ['a hidden character in the description', (tool) => ({ ...tool, description: 'Searches.\u{200B}' })],
    ['a property description', (tool) => patched(tool, (schema) => (schema.properties.q.description = 'Text'))],
    ['a type', (tool) => patched(tool, (schema) => (schema.properties.n.type = 'integer'))],
    ['required', (tool) => patched(tool, (schema) => schema.required.pop())],
    ['an enum', (tool) => patched(tool, (schema) => schema.properties.q.enum.push('c'))],
    ['the order of an enum', (tool) => patched(tool, (schema) => schema.properties.q.enum.reverse())],
    ['a default', (tool) => patched(tool, (schema) => (schema.properties.q.default = 'b'))],
    ['additionalProperties', (tool) => patched(tool, (schema) => (schema.additionalProperties = true))],
    ['the output schema', (tool) => ({ ...tool, outputSchema: { type: 'object' } })],
    ['an annotation', (tool) => ({ ...tool, annotations: { readOnlyHint: false } })],
    ['the view', (tool) => ({ ...tool, _meta: { ui: { resourceUri: 'ui://kb/b' } } })],
    ['a missing description', ({ description, ...tool }) => tool],
    ['null in place of a description', (tool) => ({ ...tool, description: null })],
  ])('changes with %s', (_, change) => {
    expect(digestOfTool(change(structuredClone(base)) as ToolDefinition)).not.toBe(digestOfTool(base));
  });

  it.each([
    ['icons', { icons: [{ src: 'x' }] }],
    ['other _meta', { _meta: { ui: { resourceUri: 'ui://kb/a' }, deployedAt: 1 } }],
    ['an unknown field', { version: 2 }],
    ['the order of required', { inputSchema: { ...(base.inputSchema as object), required: ['n', 'q'] } }],
  ])('does not change with %s', (_, fields) => {
    expect(digestOfTool({ ...base, ...fields })).toBe(digestOfTool(base));
  });

  it('does not depend on how the JSON was spelled', () => {
    const one = parsed('{"name":"a","inputSchema":{"type":"object","maximum":1e2,"minimum":1.0,"title":"\\u0061"}}');
    const other = parsed('{ "inputSchema": {"title":"a", "minimum":1, "maximum":100, "type":"object"}, "name":"a" }');
    expect(digestOfTool(one)).toBe(digestOfTool(other));
  });

  it.each([
    ['a default', { default: { required: ['a', 'b'] } }, { default: { required: ['b', 'a'] } }],
    ['a const', { const: { required: ['a', 'b'] } }, { const: { required: ['b', 'a'] } }],
    ['an enum', { enum: [{ required: ['a', 'b'] }] }, { enum: [{ required: ['b', 'a'] }] }],
    ['examples', { examples: [{ required: ['a', 'b'] }] }, { examples: [{ required: ['b', 'a'] }] }],
  ])('takes required inside %s for data, whose order counts', (_, one, other) => {
    expect(digestOfTool(toolOf('a', { inputSchema: one }))).not.toBe(digestOfTool(toolOf('a', { inputSchema: other })));
  });

  it('takes a property that is called default for a schema', () => {
    const schema = (required: string[]) => ({ inputSchema: { properties: { default: { items: { anyOf: [{ required }] } } } } });
    expect(digestOfTool(toolOf('a', schema(['a', 'b'])))).toBe(digestOfTool(toolOf('a', schema(['b', 'a']))));
  });

  it('sees a change of a property that is called __proto__', () => {
    const one = parsed('{"name":"a","inputSchema":{"properties":{"__proto__":{"type":"string"}}}}');
    const other = parsed('{"name":"a","inputSchema":{"properties":{"__proto__":{"type":"number"}}}}');
    expect(digestOfTool(one)).not.toBe(digestOfTool(other));
  });

  it('tells half surrogate pairs apart', () => {
    expect(digestOfTool(toolOf('a', { title: '\ud800' }))).not.toBe(digestOfTool(toolOf('a', { title: '\ud801' })));
  });

  it('ends for JSON of any depth', () => {
    let value: unknown = 1;
    for (let level = 0; level < 100_000; level += 1) value = { a: value };
    expect(digestOfTool(toolOf('a', { inputSchema: value }))).toMatch(/^sha256-/);
  });

  it('ignores key order at every depth', () => {
    fc.assert(
      fc.property(anySchema, anyJson, fc.nat(), (inputSchema, annotations, seed) => {
        const rank = (key: string) => Array.from(key).reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0) + seed) % 997, seed);
        const tool = { name: 'a', inputSchema, annotations };
        expect(digestOfTool(withShuffledKeys(tool, rank) as ToolDefinition)).toBe(digestOfTool(tool));
      }),
    );
  });

  it('writes different JSON differently, and the same text for what parses to the same', () => {
    fc.assert(
      fc.property(anyJson, anyJson, (one, other) => {
        expect(JSON.parse(canonicalText(one))).toEqual(JSON.parse(JSON.stringify(one)));
        expect(canonicalText(one) === canonicalText(other)).toBe(isDeepStrictEqual(one, other));
      }),
    );
  });
});

describe('the fingerprint of a toolset and of a catalog (5.1, 5.2)', () => {
  const content = { digests: ['sha256-b', 'sha256-a'], instructions: 'Be brief.', credentialHeaders: ['x-b', 'x-a'] };

  it('does not depend on the order of tools and credential headers', () => {
    expect(fingerprintOfToolset({ ...content, digests: ['sha256-a', 'sha256-b'], credentialHeaders: ['x-a', 'x-b'] })).toBe(
      fingerprintOfToolset(content),
    );
  });

  it.each([
    ['a digest', { digests: ['sha256-a'] }],
    ['the same digest twice', { digests: ['sha256-a', 'sha256-b', 'sha256-b'] }],
    ['the instructions', { instructions: undefined }],
    ['a credential header', { credentialHeaders: ['x-a'] }],
  ])('changes with %s', (_, fields) => {
    expect(fingerprintOfToolset({ ...content, ...fields })).not.toBe(fingerprintOfToolset(content));
  });

  it('depends on names, URLs and fingerprints of the toolsets, not on their order', () => {
    const a = { toolset: 'a', url: 'http://a/', fingerprint: 'sha256-1' };
    const b = { toolset: 'b', url: 'http://b/', fingerprint: 'sha256-2' };
    const both = fingerprintOfCatalog([a, b]);
    expect(fingerprintOfCatalog([b, a])).toBe(both);
    expect(fingerprintOfCatalog([a, { ...b, url: 'http://c/' }])).not.toBe(both);
    expect(fingerprintOfCatalog([a, { ...b, toolset: 'c' }])).not.toBe(both);
    expect(fingerprintOfCatalog([a, { ...b, fingerprint: 'sha256-3' }])).not.toBe(both);
    expect(fingerprintOfCatalog([a])).not.toBe(both);
  });
});

describe('the fingerprint of a host’s tools (12.2)', () => {
  const schema = z.object({ q: z.string(), n: z.number().optional() });
  const json = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] };

  it('does not depend on the order of the tools', () => {
    expect(fingerprint([toolOf('a'), toolOf('b')])).toBe(fingerprint([toolOf('b'), toolOf('a')]));
    expect(fingerprint([toolOf('a')])).not.toBe(fingerprint([toolOf('b')]));
  });

  it('reads the schema of LangChain tools, of zod and of JSON Schema', () => {
    const build = (description: string, inner: typeof schema | typeof json) =>
      langchainTool(() => '', { name: 'a', description, schema: inner as typeof schema });
    expect(fingerprint([build('x', schema)])).toBe(fingerprint([build('x', z.object({ n: z.number().optional(), q: z.string() }))]));
    expect(fingerprint([build('x', schema)])).not.toBe(fingerprint([build('y', schema)]));
    expect(fingerprint([build('x', schema)])).not.toBe(
      fingerprint([build('x', z.object({ q: z.string(), n: z.string() }) as unknown as typeof schema)]),
    );
    expect(fingerprint([build('x', json)])).toBe(fingerprint([{ name: 'a', description: 'x', inputSchema: json }]));
  });

  it('reads the schema of a LangChain tool that takes one text', () => {
    const one = langchainTool(() => '', { name: 'a', description: 'x' });
    const other = langchainTool(() => '', { name: 'a', description: 'y' });
    expect(fingerprint([one])).not.toBe(fingerprint([other]));
  });

  it('reads zod 3 schemas, down to their checks', () => {
    const of = (inner: unknown) => fingerprint([{ name: 'a', schema: z3.object({ q: inner as z3.ZodString }) }]);
    expect(of(z3.string())).toBe(of(z3.string()));
    expect(of(z3.string())).not.toBe(of(z3.number()));
    expect(of(z3.array(z3.string().min(1)))).not.toBe(of(z3.array(z3.string().min(2))));
    expect(of(z3.string().regex(/a/))).not.toBe(of(z3.string().regex(/b/)));
  });

  it('refuses what is no tool or no schema, instead of finding all of these equal', () => {
    expect(() => fingerprint([{ name: 'a', schema: 'string' }])).toThrow(TypeError);
    expect(() => fingerprint([{} as { name: string }])).toThrow(TypeError);
  });
});

function patched(tool: ReturnType<typeof toolOf>, change: (schema: DeepRecord) => unknown): unknown {
  change(tool.inputSchema as DeepRecord);
  return tool;
}

type DeepRecord = {
  properties: Record<'q' | 'n', { type: string; description: string; enum: string[]; default: string }>;
  required: string[];
  additionalProperties: boolean;
};
