type Json = Record<string, unknown>;

/** A provider's family, as far as the rules for tool schemas differ. */
export type Provider = 'openai and anthropic' | 'gemini';

/**
 * Judges a tool's parameters as model providers do: OpenAI and Anthropic together (an object at the root without a union, valid JSON
 * Schema 2020-12, legal property names), or Gemini, whose schema language has fewer keywords. Answers why a request with this
 * schema would be refused, or undefined when it would be accepted.
 */
export function refusalOf(schema: unknown, provider: Provider = 'openai and anthropic'): string | undefined {
  if (!isObject(schema)) return 'The root is not an object.';
  if (schema.type !== 'object') return "The root's type is not 'object'.";
  if (!isObject(schema.properties)) return 'The root has no properties.';
  for (const union of ['anyOf', 'oneOf', 'allOf', 'enum', 'not']) if (Object.hasOwn(schema, union)) return `The root has ${union}.`;
  return refusalBelow(schema, '#', provider);
}

const TYPES = new Set<unknown>(['object', 'array', 'string', 'number', 'integer', 'boolean']);

const isText = (value: unknown) => typeof value === 'string';
const isNumber = (value: unknown) => typeof value === 'number' && Number.isFinite(value);
const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;

/** The keywords that are accepted, each with what its value has to be by the meta-schema. */
const KEYWORDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  type: (value) => TYPES.has(value),
  title: isText,
  description: isText,
  properties: isObject,
  required: (value) => Array.isArray(value) && value.every(isText) && new Set(value).size === value.length,
  additionalProperties: (value) => typeof value === 'boolean' || isObject(value),
  items: isObject,
  anyOf: (value) => Array.isArray(value) && value.length > 0,
  enum: (value) => Array.isArray(value) && value.length > 0 && new Set(value).size === value.length,
  default: () => true,
  format: isText,
  pattern: (value) => isText(value) && isPattern(String(value)),
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  multipleOf: (value) => isNumber(value) && Number(value) > 0,
  minLength: isCount,
  maxLength: isCount,
  minItems: isCount,
  maxItems: isCount,
  minProperties: isCount,
  maxProperties: isCount,
  uniqueItems: (value) => typeof value === 'boolean',
};

const NOT_IN_GEMINI = ['additionalProperties', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'uniqueItems'];

function refusalBelow(schema: unknown, place: string, provider: Provider): string | undefined {
  if (!isObject(schema)) return `${place} is not an object.`;
  for (const [keyword, value] of Object.entries(schema)) {
    const isValid = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword] : undefined;
    if (isValid === undefined) return `${place} has ${keyword}.`;
    if (!isValid(value)) return `${place} has a ${keyword} that is not valid.`;
  }
  const refusal =
    refusalOfType(schema, place) ??
    refusalOfRequired(schema, place) ??
    (provider === 'gemini' ? refusalOfGemini(schema, place) : undefined);
  if (refusal !== undefined) return refusal;
  for (const [where, inner] of partsOf(schema, place)) {
    const below = refusalBelow(inner, where, provider);
    if (below !== undefined) return below;
  }
  return undefined;
}

function refusalOfType({ type, items, properties, enum: values }: Json, place: string): string | undefined {
  if (type === 'array' && !isObject(items)) return `The array ${place} has no items.`;
  if (type === 'object' && !isObject(properties)) return `The object ${place} has no properties.`;
  if (Array.isArray(values) && !values.every((value) => hasType(value, type))) return `The enum of ${place} has a value of another type.`;
  return undefined;
}

function hasType(value: unknown, type: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value);
  return type === undefined || typeof value === type;
}

function refusalOfRequired({ properties = {}, required = [] }: Json, place: string): string | undefined {
  for (const name of Object.keys(properties as Json)) {
    if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(name)) return `${place} has a property with a bad name.`;
  }
  const isThere = (name: string) => Object.hasOwn(properties as Json, name);
  return (required as string[]).every(isThere) ? undefined : `${place} requires a property that it does not have.`;
}

function refusalOfGemini(schema: Json, place: string): string | undefined {
  const unknown = NOT_IN_GEMINI.find((keyword) => Object.hasOwn(schema, keyword));
  if (unknown !== undefined) return `${place} has ${unknown}, which Gemini does not know.`;
  if (schema.anyOf !== undefined) return Object.keys(schema).length === 1 ? undefined : `${place} has something beside its anyOf.`;
  if (schema.type === undefined) return `${place} has no type.`;
  if (Array.isArray(schema.enum) && !schema.enum.every((value) => isText(value) && value !== ''))
    return `The enum of ${place} has a value that is no text.`;
  if (schema.format !== undefined && schema.format !== 'date-time') return `${place} has a format that Gemini does not know.`;
  return undefined;
}

function partsOf(schema: Json, place: string): [string, unknown][] {
  const { properties, anyOf, items, additionalProperties } = schema;
  return [
    ...Object.entries(isObject(properties) ? properties : {}).map(([name, inner]): [string, unknown] => [`${place}/${name}`, inner]),
    ...(Array.isArray(anyOf) ? anyOf : []).map((branch, index): [string, unknown] => [`${place}/anyOf/${index}`, branch]),
    ...(items === undefined ? [] : [[`${place}/items`, items] as [string, unknown]]),
    ...(isObject(additionalProperties) ? [[`${place}/additionalProperties`, additionalProperties] as [string, unknown]] : []),
  ];
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, 'u').flags === 'u';
  } catch {
    // That the text is no regular expression is the answer.
    return false;
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
