import { isJsonObject } from './json.js';
import type { JsonObject } from './tool.js';

const MAX_REFERENCE = 1_000;

/** Stands for the address of a root schema that does not say its own, so that relative references can be resolved. */
const NOWHERE = 'schema:///';

/** Finds what references lead to within one root schema. Nothing is ever fetched. */
export type FindTarget = (reference: string) => unknown;

/**
 * Understands pointers (`#/$defs/x`), anchors (`#x`) and the addresses of schemas inside the root (`$id`). The answer is undefined for
 * another document and for a place that does not exist.
 */
export function schemaTargets(root: JsonObject): FindTarget {
  // Few schemas have anything but pointers, so the walk for the others waits until it is needed.
  let named: Named | undefined;
  return (reference) => {
    if (reference.length > MAX_REFERENCE) return undefined;
    if (reference === '#' || reference.startsWith('#/')) return placeAt(root, reference.slice(1));
    named ??= namedIn(root);
    const url = resolved(reference, named.base);
    if (url === undefined) return undefined;
    const fragment = url.hash.slice(1);
    if (fragment !== '' && !fragment.startsWith('/')) return named.places.get(url.href);
    url.hash = '';
    return placeAt(named.places.get(url.href), fragment);
  };
}

interface Named {
  /** The root's own address. */
  readonly base: string;
  /** Schemas by their addresses, and by address and anchor. */
  readonly places: ReadonlyMap<string, JsonObject>;
}

function namedIn(root: JsonObject): Named {
  const places = new Map<string, JsonObject>();
  const base = addressOf(root, NOWHERE);
  const waiting: { readonly value: unknown; readonly within: string }[] = [{ value: root, within: NOWHERE }];
  const seen = new Set<unknown>();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, within } = next;
    if (typeof value !== 'object' || value === null || seen.has(value)) continue;
    seen.add(value);
    const address = isJsonObject(value) ? addressOf(value, within) : within;
    if (isJsonObject(value)) {
      if (address !== within || value === root) places.set(address, value);
      for (const anchor of [value.$anchor, value.$dynamicAnchor]) {
        const url = typeof anchor === 'string' ? resolved(`#${anchor}`, address) : undefined;
        if (url !== undefined && !places.has(url.href)) places.set(url.href, value);
      }
    }
    for (const inner of Object.values(value)) waiting.push({ value: inner, within: address });
  }
  return { base, places };
}

/** A schema with an `$id` (`id` in draft 4) has an address of its own; in `properties`, a property may be called so, and is an object. */
function addressOf({ $id, id }: JsonObject, within: string): string {
  const own = typeof $id === 'string' ? $id : id;
  const url = typeof own === 'string' && own.length <= MAX_REFERENCE ? resolved(own, within) : undefined;
  if (url === undefined) return within;
  url.hash = '';
  return url.href;
}

function resolved(reference: string, base: string): URL | undefined {
  return URL.canParse(reference, base) ? new URL(reference, base) : undefined;
}

/** @param pointer without its `#`, for example `/$defs/x`. */
function placeAt(start: unknown, pointer: string): unknown {
  let place = start;
  for (const token of pointer === '' ? [] : pointer.slice(1).split('/')) {
    const key = decoded(token).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof place !== 'object' || place === null || !Object.hasOwn(place, key)) return undefined;
    place = (place as JsonObject)[key];
  }
  return place;
}

function decoded(token: string): string {
  try {
    return decodeURIComponent(token);
  } catch {
    // A stray `%` is no encoding: the key is taken as it is written, and is simply missing when it is not meant so.
    return token;
  }
}
