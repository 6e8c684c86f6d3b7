import fc from 'fast-check';
import type { Snapshot } from '../../src/core/snapshot.js';
import { takeSnapshot } from '../../src/core/snapshot.js';

/** Keys that have broken registries and canonical forms before. */
export const awkwardKey = fc.oneof(
  fc.constantFrom(
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'required',
    'default',
    '$ref',
    'a b',
    'a.b',
    'a_b',
    'ä',
    '\u{200B}x',
  ),
  fc.string({ maxLength: 6 }),
);

function objectOf<T>(values: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> {
  return fc.array(fc.tuple(awkwardKey, values), { maxLength: 3 }).map((entries) => Object.fromEntries(entries));
}

const scalar = fc.oneof(fc.constantFrom<unknown>(null, true, false, 0, 1, -1.5, 1e21), fc.string({ maxLength: 8 }));

function jsonOf(levels: number): fc.Arbitrary<unknown> {
  if (levels === 0) return scalar;
  const inner = jsonOf(levels - 1);
  return fc.oneof(scalar, fc.array(inner, { maxLength: 3 }), objectOf(inner));
}

/** Any JSON value, with awkward keys. */
export const anyJson: fc.Arbitrary<unknown> = jsonOf(3);

const type = fc.constantFrom('object', 'array', 'string', 'number', 'integer', 'boolean', 'null', 'foo');

const reference = fc.oneof(
  fc.constantFrom(
    '#',
    '#/$defs/a_b',
    '#/$defs/__proto__',
    '#/definitions/a.b',
    '#/properties/a_b',
    '#/anyOf/0',
    '#x',
    'http://127.0.0.1:1/s',
  ),
  awkwardKey.map((key) => `#/$defs/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`),
);

function schemaOf(levels: number): fc.Arbitrary<Record<string, unknown>> {
  const values: Record<string, fc.Arbitrary<unknown>> = {
    type: fc.oneof(type, fc.array(type, { maxLength: 3 })),
    description: fc.oneof(fc.string(), fc.integer()),
    required: fc.oneof(fc.array(awkwardKey, { maxLength: 3 }), fc.boolean()),
    enum: fc.array(anyJson, { maxLength: 3 }),
    const: scalar,
    default: anyJson,
    minimum: scalar,
    pattern: fc.string(),
    $schema: fc.string(),
    $id: fc.string(),
    $ref: reference,
  };
  if (levels > 0) {
    const inner = fc.oneof({ weight: 6, arbitrary: schemaOf(levels - 1) }, { weight: 1, arbitrary: scalar });
    const several = fc.array(inner, { maxLength: 3 });
    for (const key of ['properties', '$defs', 'definitions']) values[key] = objectOf(inner);
    for (const key of ['anyOf', 'oneOf', 'allOf', 'prefixItems']) values[key] = several;
    for (const key of ['items', 'additionalProperties', 'not']) values[key] = fc.oneof(inner, several);
  }
  const keyword = fc.oneof(...Object.entries(values).map(([key, value]) => value.map((item) => [key, item] as const)));
  return fc.array(keyword, { maxLength: 5 }).map((entries) => Object.fromEntries(entries));
}

/** Objects that look like JSON Schemas, right and wrong ones, with references that lead somewhere, nowhere and in circles. */
export const anySchema: fc.Arbitrary<Record<string, unknown>> = schemaOf(4);

/** The same JSON value with its object keys in another order, at every depth. */
export function withShuffledKeys(value: unknown, rank: (key: string) => number): unknown {
  if (Array.isArray(value)) return value.map((item) => withShuffledKeys(item, rank));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, withShuffledKeys(inner, rank)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => rank(a) - rank(b)));
}

export interface SnapshotOptions {
  readonly toolset?: string;
  readonly url?: string;
  readonly tools: readonly unknown[];
  readonly instructions?: string;
  readonly credentialHeaders?: readonly string[];
}

/** A snapshot of the given tools, as a session's complete list would give it. */
export function snapshotOf({
  toolset = 'kb',
  url = 'http://127.0.0.1/mcp',
  tools,
  instructions,
  credentialHeaders = [],
}: SnapshotOptions): Snapshot {
  return takeSnapshot({ endpoint: { name: toolset, url, credentialHeaders }, list: { tools, instructions } });
}

/** A tool with nothing but a name, unless more is given. */
export function toolOf(name: string, more: Record<string, unknown> = {}): { name: string; [key: string]: unknown } {
  return { name, inputSchema: { type: 'object', properties: {} }, ...more };
}
