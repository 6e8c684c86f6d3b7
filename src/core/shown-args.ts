import { isJsonObject } from './json.js';
import type { OwnValues } from './schema-texts.js';
import type { JsonObject } from './tool.js';

/** How the schema that the model is shown differs in words from the toolset's own. */
export interface ShownSchema {
  readonly schema: JsonObject;
  /** The property's own name, by the name that is shown. */
  readonly names: ReadonlyMap<string, string>;
  readonly values: OwnValues;
}

/**
 * The model's arguments in the toolset's own words: property names and listed values as they were before they were made ready
 * for providers, at every depth. Whatever the schema does not name stays as it is.
 */
export function ownArgs(args: JsonObject, shown: ShownSchema): JsonObject {
  if (shown.names.size === 0 && shown.values.size === 0) return args;
  return unmap(args, [shown.schema], shown) as JsonObject;
}

/** @param schemas what is known about the value: more than one schema after a union, none where anything is allowed. */
function unmap(value: unknown, schemas: readonly JsonObject[], shown: ShownSchema): unknown {
  if (schemas.length === 0) return value;
  const known = schemas.flatMap(alternatives);
  if (typeof value === 'string') return ownValue(value, known, shown);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = known.map(({ items }) => items).filter(isJsonObject);
    return value.map((item) => unmap(item, items, shown));
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const declared = known.map(({ properties }) => propertyOf(properties, key)).filter(isJsonObject);
      const below = declared.length > 0 ? declared : known.map(({ additionalProperties }) => additionalProperties).filter(isJsonObject);
      return [declared.length > 0 ? (shown.names.get(key) ?? key) : key, unmap(inner, below, shown)];
    }),
  );
}

function ownValue(value: string, known: readonly JsonObject[], { values }: ShownSchema): string {
  const listing = known.filter((schema) => Array.isArray(schema.enum) && schema.enum.includes(value));
  const own = listing.map((schema) => values.get(schema)?.get(value) ?? value);
  return own.length === 0 || own.includes(value) ? value : (own[0] as string);
}

function alternatives(schema: JsonObject): JsonObject[] {
  return [schema, ...(Array.isArray(schema.anyOf) ? schema.anyOf.filter(isJsonObject).flatMap(alternatives) : [])];
}

function propertyOf(properties: unknown, name: string): unknown {
  return isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
}
