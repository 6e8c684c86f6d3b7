import { isJsonObject } from './json.js';
import { legalizeProperties } from './property-names.js';
import { type FlatSchema, type SchemaPlace, type SchemaRefs, schemaRefs } from './schema-refs.js';
import { cleanTexts } from './schema-texts.js';
import { isNullOnly, limitsOf, type SchemaType, typesOf } from './schema-values.js';
import { ownArgs, type ShownSchema } from './shown-args.js';
import type { JsonObject } from './tool.js';

/** A tool's input schema as model providers accept it, and the way back for the arguments. */
export interface ProjectedSchema {
  readonly schema: JsonObject;
  /** The model's arguments with the toolset's own property names and listed values, at every depth. */
  unmapArgs(args: JsonObject): JsonObject;
}

/** Deeper levels of a schema allow anything. */
const MAX_LEVELS = 64;

/**
 * Puts an input schema into the form that OpenAI and Anthropic accept (CONTRACT.md 6.3): references resolved, the root
 * an object with `properties`, one scalar `type` per schema, no union at the root, legal property names, and only common
 * keywords, without hidden characters (14.1). Where this form cannot say what the schema says, it allows more: the toolset itself judges the arguments. `null` is
 * left out of the types. Time and size of the result are bounded for any input.
 */
export function projectSchema(inputSchema: unknown): ProjectedSchema {
  const root = isJsonObject(inputSchema) ? inputSchema : {};
  const refs = schemaRefs(root);
  const flat = refs.flatten(root, { path: new Set(), isInlined: false });
  const legal = legalizeProperties({ ...textOf(flat.keywords), ...projectTyped('object', { refs, flat, level: 0 }) });
  const shown: ShownSchema = { ...cleanTexts(legal.schema), names: legal.names };
  return { schema: shown.schema, unmapArgs: (args) => ownArgs(args, shown) };
}

/** A schema without `$ref` and `allOf`, on its way into the result. */
interface Projection {
  readonly refs: SchemaRefs;
  readonly flat: FlatSchema;
  /** How many levels are above. */
  readonly level: number;
}

function projectBelow(schema: unknown, { refs, flat, level }: Projection): JsonObject {
  if (!isJsonObject(schema)) return {};
  if (level >= MAX_LEVELS || isInside(schema, flat.place)) return textOf(schema);
  return project({ refs, flat: refs.flatten(schema, flat.place), level: level + 1 });
}

/** Only a host's own objects can contain themselves other than by `$ref`. */
function isInside(schema: JsonObject, { path }: SchemaPlace): boolean {
  return path.has(schema);
}

function project(projection: Projection): JsonObject {
  const { keywords } = projection.flat;
  const types = typesOf(keywords);
  if (types.length > 0) {
    return unionOf(
      types.map((type) => projectTyped(type, projection)),
      textOf(keywords),
    );
  }
  const branches = branchesOf(projection);
  return branches.length === 0 ? textOf(keywords) : unionOf(branches.map(project), textOf(keywords));
}

/** The branches of `anyOf` and `oneOf`, without those that allow nothing or nothing but `null`. */
function branchesOf({ refs, flat, level }: Projection): Projection[] {
  if (level >= MAX_LEVELS) return [];
  const { anyOf, oneOf } = flat.keywords;
  const branches: unknown[] = [...(Array.isArray(anyOf) ? anyOf : []), ...(Array.isArray(oneOf) ? oneOf : [])];
  return branches
    .filter((branch) => branch !== false && !(isJsonObject(branch) && isInside(branch, flat.place)))
    .map((branch) => ({ refs, flat: refs.flatten(branch, flat.place), level: level + 1 }))
    .filter((branch) => !isNullOnly(branch.flat.keywords));
}

function projectTyped(type: SchemaType, projection: Projection): JsonObject {
  const limits = limitsOf(type, projection.flat.keywords);
  if (type === 'object') return { type, ...limits, ...projectObject(projection) };
  if (type === 'array') return { type, ...limits, items: projectItems(projection) };
  return { type, ...limits };
}

function projectItems(projection: Projection): JsonObject {
  const { items, prefixItems } = projection.flat.keywords;
  const tuple = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : undefined;
  if (tuple === undefined) return projectBelow(items, projection);
  // Providers know one schema for all items. In a tuple, each item may be what any place of it allows.
  const places = isJsonObject(items) ? [...tuple, items] : tuple;
  return unionOf(
    places.map((item) => projectBelow(item, projection)),
    {},
  );
}

/** The part of a projected object schema that speaks of its properties. */
interface ObjectPart {
  readonly properties: ReadonlyMap<string, JsonObject>;
  readonly required: ReadonlySet<string>;
  readonly additionalProperties: JsonObject | false | undefined;
}

function projectObject(projection: Projection): JsonObject {
  const { properties, required, additionalProperties } = objectPartOf(projection);
  const names = [...required].filter((name) => properties.has(name));
  return {
    properties: Object.fromEntries(properties),
    ...(names.length > 0 && { required: names }),
    ...(additionalProperties !== undefined && { additionalProperties }),
  };
}

/** Folds a union of objects into one: the properties of all branches, of which those are required that each branch requires. */
function objectPartOf(projection: Projection): ObjectPart {
  const { keywords } = projection.flat;
  const own = isJsonObject(keywords.properties) ? Object.entries(keywords.properties) : [];
  const properties = new Map(own.map(([name, property]) => [name, projectBelow(property, projection)] as const));
  const required = new Set(Array.isArray(keywords.required) ? keywords.required.filter((name) => typeof name === 'string') : []);

  const parts = branchesOf(projection).filter(allowsObjects).map(objectPartOf);
  const inBranches = new Map<string, JsonObject[]>();
  for (const part of [...parts, ...conditionsOf(projection).map(objectPartOf)]) {
    for (const [name, property] of part.properties) {
      const alternatives = inBranches.get(name);
      if (alternatives === undefined) inBranches.set(name, [property]);
      else alternatives.push(property);
    }
  }
  for (const [name, alternatives] of inBranches) if (!properties.has(name)) properties.set(name, unionOf(alternatives, {}));
  for (const name of parts[0]?.required ?? []) if (parts.every((part) => part.required.has(name))) required.add(name);
  return { properties, required, additionalProperties: inBranches.size > 0 ? undefined : additionalOf(projection) };
}

/** What holds under some condition only: its properties are shown, and none of them is required. */
function conditionsOf({ refs, flat, level }: Projection): Projection[] {
  if (level >= MAX_LEVELS) return [];
  const { then: whenTrue, else: whenFalse, dependentSchemas } = flat.keywords;
  const schemas = [whenTrue, whenFalse, ...(isJsonObject(dependentSchemas) ? Object.values(dependentSchemas) : [])];
  return schemas
    .filter(isJsonObject)
    .filter((schema) => !isInside(schema, flat.place))
    .map((schema) => ({ refs, flat: refs.flatten(schema, flat.place), level: level + 1 }));
}

function allowsObjects({ flat }: Projection): boolean {
  const types = typesOf(flat.keywords);
  return types.length === 0 || types.includes('object');
}

function additionalOf(projection: Projection): JsonObject | false | undefined {
  const { additionalProperties, patternProperties } = projection.flat.keywords;
  // Names that match a pattern are allowed whatever is said of additional ones, and the form knows no patterns.
  if (patternProperties !== undefined) return undefined;
  if (additionalProperties === false) return false;
  const projected = projectBelow(additionalProperties, projection);
  return Object.keys(projected).length === 0 ? undefined : projected;
}

/** One schema for what any of the schemas allows. `text` describes it as a whole. */
function unionOf(schemas: readonly JsonObject[], text: JsonObject): JsonObject {
  const [first] = schemas;
  if (schemas.length === 1 && first?.type !== undefined) return { ...first, ...text };
  const flat = schemas.flatMap((schema) => (Array.isArray(schema.anyOf) ? schema.anyOf.filter(isJsonObject) : [schema]));
  if (flat.some((schema) => schema.type === undefined)) return text;
  const distinct = [...new Map(mergeEnums(flat).map((schema) => [JSON.stringify(schema), schema] as const)).values()];
  const [only, ...others] = distinct;
  if (only === undefined) return text;
  return others.length === 0 ? { ...only, ...text } : { ...text, anyOf: distinct };
}

/** Makes one list of the values of all branches that list values of the same type and say nothing else, as the tags of tagged unions do. */
function mergeEnums(schemas: readonly JsonObject[]): JsonObject[] {
  const merged = new Map<unknown, { readonly schema: JsonObject; readonly values: Set<unknown> }>();
  const others: JsonObject[] = [];
  for (const schema of schemas) {
    if (!Array.isArray(schema.enum) || Object.keys(schema).length !== 2) {
      others.push(schema);
      continue;
    }
    const values = merged.get(schema.type)?.values ?? new Set();
    for (const value of schema.enum) values.add(value);
    merged.set(schema.type, { schema, values });
  }
  return [...Array.from(merged.values(), ({ schema, values }) => ({ ...schema, enum: [...values] })), ...others];
}

/** What a schema says to its reader. */
function textOf({ title, description }: JsonObject): JsonObject {
  return { ...(typeof title === 'string' && { title }), ...(typeof description === 'string' && { description }) };
}
