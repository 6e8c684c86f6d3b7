import { isJsonObject } from './json.js';
import { schemaTargets } from './schema-targets.js';
import type { JsonObject } from './tool.js';

/**
 * How much may be inlined into one schema, in characters of JSON, roughly. Without a bound, 40 definitions that name each other
 * twice would become 2^40 copies.
 */
const MAX_INLINED = 64 * 1024;

/** What following one reference costs at least, so that definitions without content end too. */
const REFERENCE_COST = 32;

/** How many references and `allOf`s may lead to one schema. */
const MAX_CHAIN = 64;

/** How many parts of one `allOf` are merged; each costs as much as all before it have brought in. */
const MAX_PARTS = 100;

/** Where a walk through a schema is. */
export interface SchemaPlace {
  /** The schema objects between the root and this place: meeting one of them again means recursion. */
  readonly path: ReadonlySet<JsonObject>;
  /** True inside what a reference brought in, where every part costs. */
  readonly isInlined: boolean;
}

/** One schema without `$ref` and `allOf`: what they bring in is merged. */
export interface FlatSchema {
  readonly keywords: JsonObject;
  readonly place: SchemaPlace;
}

/** Follows the references of one root schema, within one budget. Nothing is ever fetched. */
export interface SchemaRefs {
  /**
   * Merges what a schema's `$ref` and `allOf` bring in. What cannot be resolved is left out: the result allows more than it
   * should, never less.
   */
  flatten(schema: unknown, place: SchemaPlace): FlatSchema;
}

/** @param root the schema that references are resolved in. */
export function schemaRefs(root: JsonObject): SchemaRefs {
  const targetOf = schemaTargets(root);
  let spent = 0;

  /** False when the budget does not allow it; then nothing more is brought in. */
  function pay(cost: number): boolean {
    spent += cost;
    return spent <= MAX_INLINED;
  }

  function flatten(schema: unknown, place: SchemaPlace, chain: number): FlatSchema {
    if (!isJsonObject(schema)) return { keywords: {}, place };
    const path = new Set(place.path).add(schema);
    if (place.isInlined && !pay(ownCost(schema))) return { keywords: textOf(schema), place: { ...place, path } };
    const { $ref, $dynamicRef, $recursiveRef, allOf, ...own } = schema;
    let merged: FlatSchema = { keywords: own, place: { ...place, path } };
    if (chain >= MAX_CHAIN) return merged;
    const reference = $ref ?? $dynamicRef ?? $recursiveRef;
    if (typeof reference === 'string') merged = withTarget(merged, reference, chain);
    for (const part of Array.isArray(allOf) ? allOf.slice(0, MAX_PARTS) : []) {
      merged = join(merged, flatten(part, merged.place, chain + 1));
    }
    return merged;
  }

  function withTarget(flat: FlatSchema, reference: string, chain: number): FlatSchema {
    const target = targetOf(reference);
    if (!isJsonObject(target) || !pay(REFERENCE_COST)) return flat;
    // A schema inside itself: any value is allowed there, and what the schema is about stays to be read.
    if (flat.place.path.has(target)) return join(flat, { keywords: textOf(target), place: flat.place });
    return join(flat, flatten(target, { path: flat.place.path, isInlined: true }, chain + 1));
  }

  return { flatten: (schema, place) => flatten(schema, place, 0) };
}

/** What a schema says by itself: all but its own subschemas, which pay when they are reached. */
function ownCost(schema: JsonObject): number {
  let cost = REFERENCE_COST;
  for (const [key, value] of Object.entries(schema)) {
    cost += key.length + 4;
    if (typeof value === 'string') cost += value.length;
    else if (Array.isArray(value))
      cost += value.every((item) => typeof item !== 'object') ? JSON.stringify(value).length : 8 * value.length;
    else if (isJsonObject(value)) for (const name of Object.keys(value)) cost += name.length + 8;
  }
  return cost;
}

function textOf({ title, description }: JsonObject): JsonObject {
  return { ...(title !== undefined && { title }), ...(description !== undefined && { description }) };
}

/**
 * Both schemas at once, as far as one object can say it. The first one's keywords win, and properties, required names and
 * unions are put together. `additionalProperties` goes when both speak of properties: it knows only those of its own part.
 */
function join(first: FlatSchema, second: FlatSchema): FlatSchema {
  const a = first.keywords;
  const b = second.keywords;
  const { additionalProperties, ...rest } = { ...b, ...a };
  const joined: Record<string, unknown> = rest;
  if (additionalProperties !== undefined && !(speaksOfProperties(a) && speaksOfProperties(b)))
    joined.additionalProperties = additionalProperties;
  if (isJsonObject(a.properties) && isJsonObject(b.properties)) joined.properties = { ...b.properties, ...a.properties };
  for (const key of ['required', 'anyOf', 'oneOf']) {
    const inFirst = a[key];
    const inSecond = b[key];
    if (Array.isArray(inFirst) && Array.isArray(inSecond)) joined[key] = [...inFirst, ...inSecond];
  }
  const path = new Set([...first.place.path, ...second.place.path]);
  return { keywords: joined, place: { path, isInlined: first.place.isInlined || second.place.isInlined } };
}

function speaksOfProperties({ properties, additionalProperties }: JsonObject): boolean {
  return properties !== undefined || additionalProperties !== undefined;
}
