/**
 * Judges a tool's parameters as the strictest of the model providers would: the rules of OpenAI, Anthropic and Gemini together.
 * Answers why a request with this schema would be refused, or undefined when it would be accepted.
 */
export function refusalOf(schema: unknown): string | undefined {
  if (!isObject(schema)) return 'The root is not an object.';
  if (schema.type !== 'object') return "The root's type is not 'object'.";
  if (!isObject(schema.properties)) return 'The root has no properties.';
  for (const union of ['anyOf', 'oneOf', 'allOf']) if (Object.hasOwn(schema, union)) return `The root has ${union}.`;
  return refusalBelow(schema, '#');
}

const TYPES = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean']);
const UNKNOWN = ['$ref', '$schema', '$id', '$anchor', '$comment', '$defs', 'definitions', 'const', 'allOf', 'oneOf', 'not', 'nullable'];

function refusalBelow(schema: unknown, place: string): string | undefined {
  if (!isObject(schema)) return `${place} is not an object.`;
  const unknown = UNKNOWN.find((keyword) => Object.hasOwn(schema, keyword));
  if (unknown !== undefined) return `${place} has ${unknown}.`;
  if (schema.type !== undefined && !TYPES.has(schema.type as string)) return `The type of ${place} is not one scalar type.`;
  if (schema.type === 'array' && !isObject(schema.items)) return `The array ${place} has no items.`;
  if (schema.enum !== undefined && (!Array.isArray(schema.enum) || schema.enum.length === 0)) return `The enum of ${place} is empty.`;
  if (schema.anyOf !== undefined && (!Array.isArray(schema.anyOf) || schema.anyOf.length === 0)) return `The anyOf of ${place} is empty.`;
  const properties = isObject(schema.properties) ? schema.properties : {};
  if (schema.properties !== undefined && !isObject(schema.properties)) return `The properties of ${place} are no object.`;
  for (const name of Object.keys(properties)) {
    if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(name)) return `${place} has a property with a bad name.`;
  }
  if (schema.required !== undefined) {
    if (!Array.isArray(schema.required)) return `The required of ${place} is no array.`;
    if (!schema.required.every((name) => typeof name === 'string' && Object.hasOwn(properties, name))) {
      return `${place} requires a property that it does not have.`;
    }
    if (new Set(schema.required).size !== schema.required.length) return `${place} requires a property twice.`;
  }
  const below: [string, unknown][] = [
    ...Object.keys(properties).map((name): [string, unknown] => [`${place}/${name}`, properties[name]]),
    ...(Array.isArray(schema.anyOf) ? schema.anyOf.map((branch, index): [string, unknown] => [`${place}/anyOf/${index}`, branch]) : []),
  ];
  if (schema.items !== undefined) below.push([`${place}/items`, schema.items]);
  if (isObject(schema.additionalProperties)) below.push([`${place}/additionalProperties`, schema.additionalProperties]);
  for (const [where, inner] of below) {
    const refusal = refusalBelow(inner, where);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
