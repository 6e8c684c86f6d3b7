import { isJsonObject } from './json.js';
import type { JsonObject } from './tool.js';

/** The types of JSON Schema, apart from `null`. */
export type SchemaType = 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean';

const TYPES: ReadonlySet<unknown> = new Set<SchemaType>(['object', 'array', 'string', 'number', 'integer', 'boolean']);

/** Which keywords limit a type's values, and whether a value of the keyword is one that a validator accepts. */
const LIMITS: Readonly<Record<SchemaType, Readonly<Record<string, (value: unknown) => boolean>>>> = {
  object: { minProperties: isCount, maxProperties: isCount },
  array: { minItems: isCount, maxItems: isCount, uniqueItems: (value) => typeof value === 'boolean' },
  string: { minLength: isCount, maxLength: isCount, pattern: isPattern, format: (value) => typeof value === 'string' },
  number: { minimum: isNumber, maximum: isNumber, exclusiveMinimum: isNumber, exclusiveMaximum: isNumber, multipleOf: isPositive },
  integer: { minimum: isNumber, maximum: isNumber, exclusiveMinimum: isNumber, exclusiveMaximum: isNumber, multipleOf: isPositive },
  boolean: {},
};

/** The types that a schema allows, without `null`. Where it names none, what else it says tells; empty when nothing does. */
export function typesOf(keywords: JsonObject): SchemaType[] {
  const { type } = keywords;
  if (type !== undefined) return [...new Set(Array.isArray(type) ? type : [type])].filter(isSchemaType);
  const values = allowedValues(keywords);
  if (values !== undefined) return typesOfValues(values);
  if (isJsonObject(keywords.properties)) return ['object'];
  return keywords.items !== undefined || keywords.prefixItems !== undefined ? ['array'] : [];
}

/** Whether a schema allows nothing but `null`. */
export function isNullOnly(keywords: JsonObject): boolean {
  const { type } = keywords;
  if (type === 'null' || (Array.isArray(type) && type.length > 0 && type.every((item) => item === 'null'))) return true;
  const values = allowedValues(keywords);
  return values !== undefined && values.length > 0 && values.every((value) => value === null);
}

/**
 * The keywords that limit the values of one type, `enum` (from `const` too) and `default` among them. What no validator would
 * accept is left out.
 */
export function limitsOf(type: SchemaType, keywords: JsonObject): JsonObject {
  const limits = Object.entries(LIMITS[type]).filter(([key, isValid]) => keywords[key] !== undefined && isValid(keywords[key]));
  const values = new Set((allowedValues(keywords) ?? []).filter((value) => isScalarOf(type, value)));
  return {
    ...Object.fromEntries(limits.map(([key]) => [key, keywords[key]])),
    ...(values.size > 0 && { enum: [...values] }),
    ...(isScalarOf(type, keywords.default) && { default: keywords.default }),
  };
}

function isSchemaType(type: unknown): type is SchemaType {
  return TYPES.has(type);
}

/** What `const` or `enum` allows; undefined when neither is there. */
function allowedValues({ const: only, enum: values }: JsonObject): readonly unknown[] | undefined {
  if (only !== undefined) return [only];
  return Array.isArray(values) ? values : undefined;
}

function typesOfValues(values: readonly unknown[]): SchemaType[] {
  const found = new Set<SchemaType>();
  for (const value of values) {
    if (Array.isArray(value)) found.add('array');
    else if (isJsonObject(value)) found.add('object');
    else if (typeof value === 'string' || typeof value === 'boolean') found.add(typeof value as SchemaType);
    else if (typeof value === 'number')
      found.add(values.every((other) => typeof other !== 'number' || Number.isInteger(other)) ? 'integer' : 'number');
  }
  return [...found];
}

function isScalarOf(type: SchemaType, value: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value);
  return (type === 'string' || type === 'number' || type === 'boolean') && typeof value === type;
}

function isNumber(value: unknown): boolean {
  return Number.isFinite(value);
}

function isPositive(value: unknown): boolean {
  return isNumber(value) && Number(value) > 0;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isPattern(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  try {
    return new RegExp(value, 'u').source !== '';
  } catch {
    // The pattern is of another dialect. Without it the schema allows more, and the toolset still judges the arguments.
    return false;
  }
}
