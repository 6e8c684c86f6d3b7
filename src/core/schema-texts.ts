import { removeHidden } from './hidden-text.js';
import { isJsonObject } from './json.js';
import type { JsonObject } from './tool.js';

/** For each schema object with values that were cleaned: the value as the toolset wrote it, by the value that is shown. */
export type OwnValues = ReadonlyMap<JsonObject, ReadonlyMap<string, string>>;

/** A projected schema without hidden characters. */
export interface CleanSchema {
  readonly schema: JsonObject;
  readonly values: OwnValues;
}

/**
 * Removes hidden characters from every text of a projected schema (CONTRACT.md 14.1). The very same object is returned when
 * nothing was hidden. Property names are not looked at, since the projection gives them legal names before.
 */
export function cleanTexts(schema: JsonObject): CleanSchema {
  const values = new Map<JsonObject, ReadonlyMap<string, string>>();
  return { schema: cleanSchema(schema, values), values };
}

function cleanSchema(schema: JsonObject, values: Map<JsonObject, ReadonlyMap<string, string>>): JsonObject {
  const own = new Map<string, string>();
  const entries = Object.entries(schema).flatMap(([key, value]) => {
    const cleaned = cleanKeyword(key, value);
    return cleaned === undefined ? [] : [[key, cleaned] as const];
  });
  if (entries.length === Object.keys(schema).length && entries.every(([key, value]) => schema[key] === value)) return schema;
  const cleaned = Object.fromEntries(entries);
  if (own.size > 0) values.set(cleaned, own);
  return cleaned;

  function cleanKeyword(key: string, value: unknown): unknown {
    // A regular expression without some of its characters is another one, so it goes as a whole.
    if (key === 'pattern') return removeHidden(String(value)).removed === 0 ? value : undefined;
    if (key === 'enum' && Array.isArray(value)) return cleanEnum(value);
    if (key === 'required') return value;
    if (typeof value === 'string') return removeHidden(value).text;
    if (key === 'properties' && isJsonObject(value)) {
      const properties = Object.entries(value).map(([name, property]) => [name, cleanBelow(property)] as const);
      return properties.every(([name, property]) => value[name] === property) ? value : Object.fromEntries(properties);
    }
    if (Array.isArray(value)) {
      const items = value.map(cleanBelow);
      return items.every((item, index) => item === value[index]) ? value : items;
    }
    return cleanBelow(value);
  }

  function cleanBelow(value: unknown): unknown {
    return isJsonObject(value) ? cleanSchema(value, values) : value;
  }

  /** Where two values look the same, the one that nothing was removed from is meant. */
  function cleanEnum(raw: readonly unknown[]): readonly unknown[] {
    const shown = raw.map((value) => (typeof value === 'string' ? removeHidden(value).text : value));
    if (shown.every((value, index) => value === raw[index])) return raw;
    for (const [index, value] of raw.entries()) {
      const clean = shown[index];
      if (typeof value === 'string' && typeof clean === 'string' && !raw.includes(clean) && !own.has(clean)) own.set(clean, value);
    }
    return [...new Set(shown)];
  }
}
