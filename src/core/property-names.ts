import { byCodeUnits, isJsonObject } from './json.js';
import { hashedName, ILLEGAL_IN_PROPERTY_NAMES, isLegalName, type LegalNameInput, legalName } from './legal-name.js';
import type { JsonObject } from './tool.js';

/** A schema whose property names providers accept. */
export interface LegalSchema {
  readonly schema: JsonObject;
  /** The own name of each property that has another one now, by that new name. */
  readonly names: ReadonlyMap<string, string>;
}

/**
 * Gives the properties of a projected schema names that providers accept (`^[a-zA-Z0-9_.-]{1,64}$`). A legal name stays. Within one
 * schema, one own name always gets the same legal name, and no two get the same, so the way back is never ambiguous.
 */
export function legalizeProperties(schema: JsonObject): LegalSchema {
  const names = new Set<string>();
  collectNames(schema, names);
  const legal = legalNames(names);
  if (legal.size === 0) return { schema, names: new Map() };
  return { schema: rename(schema, legal), names: new Map(Array.from(legal, ([raw, shown]) => [shown, raw] as const)) };
}

/** The schemas one level below, apart from properties. */
function otherSubschemas(schema: JsonObject): JsonObject[] {
  const { items, additionalProperties, anyOf } = schema;
  return [items, additionalProperties, ...(Array.isArray(anyOf) ? anyOf : [])].filter(isJsonObject);
}

function collectNames(schema: JsonObject, names: Set<string>): void {
  for (const [name, property] of propertiesOf(schema)) {
    names.add(name);
    collectNames(property, names);
  }
  for (const inner of otherSubschemas(schema)) collectNames(inner, names);
}

/** The legal name of each name that has to change. */
function legalNames(names: ReadonlySet<string>): Map<string, string> {
  const inputs = [...names]
    .filter((raw) => !isHarmless(raw))
    .sort(byCodeUnits)
    .map((raw): LegalNameInput => ({ raw, illegal: ILLEGAL_IN_PROPERTY_NAMES, identity: [raw] }));
  const wanted = new Map<string, number>();
  for (const input of inputs) wanted.set(legalName(input), (wanted.get(legalName(input)) ?? 0) + 1);
  const taken = new Set(names);
  return new Map(
    inputs.map((input) => {
      let shown = legalName(input);
      if (wanted.get(shown) !== 1) shown = hashedName(input, 0);
      for (let attempt = 0; taken.has(shown) || shown === '__proto__'; attempt += 1) shown = hashedName(input, attempt);
      taken.add(shown);
      return [input.raw, shown] as const;
    }),
  );
}

/** `__proto__` is legal for providers, but an assignment to it on the way would change an object's prototype. */
function isHarmless(name: string): boolean {
  return name !== '__proto__' && isLegalName(name, ILLEGAL_IN_PROPERTY_NAMES);
}

function rename(schema: JsonObject, legal: ReadonlyMap<string, string>): JsonObject {
  const shown = (name: string) => legal.get(name) ?? name;
  const renamed: Record<string, unknown> = { ...schema };
  if (isJsonObject(schema.properties)) {
    renamed.properties = Object.fromEntries(propertiesOf(schema).map(([name, property]) => [shown(name), rename(property, legal)]));
  }
  if (Array.isArray(schema.required)) renamed.required = schema.required.map(shown);
  for (const key of ['items', 'additionalProperties']) {
    const inner = schema[key];
    if (isJsonObject(inner)) renamed[key] = rename(inner, legal);
  }
  if (Array.isArray(schema.anyOf)) renamed.anyOf = schema.anyOf.filter(isJsonObject).map((branch) => rename(branch, legal));
  return renamed;
}

function propertiesOf({ properties }: JsonObject): (readonly [string, JsonObject])[] {
  if (!isJsonObject(properties)) return [];
  return Object.keys(properties).map((name) => [name, properties[name] as JsonObject] as const);
}
