import { isJsonObject } from './json.js';
import type { JsonObject } from './tool.js';

/** What Gemini's own schema language has a field for; any other keyword makes it refuse the whole request. */
const KNOWN = new Set([
  'type',
  'title',
  'description',
  'properties',
  'required',
  'items',
  'anyOf',
  'enum',
  'default',
  'format',
  'pattern',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
]);

/** Every schema needs a type or a union, so "anything" is written as a union of all types. */
const ANYTHING: readonly JsonObject[] = [
  { type: 'string' },
  { type: 'number' },
  { type: 'boolean' },
  { type: 'object', properties: {} },
  { type: 'array', items: { type: 'string' } },
];

/**
 * Puts a projected schema into the narrower form of Gemini's function declarations (CONTRACT.md 6.3): listed values for strings
 * only, no format but `date-time`, inclusive bounds only, a union without anything beside it, and a type everywhere. What this form
 * cannot say is said in the description where it helps the model. Property names and listed strings stay, so the way back is the same.
 */
export function geminiSchema(schema: JsonObject): JsonObject {
  const { anyOf, title, description } = schema;
  if (Array.isArray(anyOf)) return unionOf(anyOf.filter(isJsonObject), { title, description });
  if (schema.type === undefined) return unionOf(ANYTHING, { title, description });
  const narrowed: Record<string, unknown> = { ...inclusiveBounds(schema) };
  const notes: string[] = [];
  for (const [key, value] of Object.entries(schema)) if (KNOWN.has(key) && !(key in narrowed)) narrowed[key] = value;
  if (Array.isArray(schema.enum)) narrowEnum(narrowed, schema.enum, notes);
  if (typeof schema.format === 'string' && schema.format !== 'date-time') {
    delete narrowed.format;
    notes.push(`Format: ${schema.format}.`);
  }
  if (isJsonObject(schema.properties)) narrowed.properties = mapValues(schema.properties);
  if (isJsonObject(schema.items)) narrowed.items = geminiSchema(schema.items);
  const text = [typeof description === 'string' ? description : '', ...notes].filter((part) => part !== '').join(' ');
  return text === '' ? narrowed : { ...narrowed, description: text };
}

/** A union must stand alone, so what is said of the whole is said of each branch that has no words of its own. */
function unionOf(branches: readonly JsonObject[], { title, description }: JsonObject): JsonObject {
  const text = [title, description].filter((part) => typeof part === 'string').join(': ');
  return { anyOf: branches.map(geminiSchema).map((branch) => (text === '' ? branch : withText(branch, text))) };
}

function withText(branch: JsonObject, text: string): JsonObject {
  if (Array.isArray(branch.anyOf)) return { anyOf: branch.anyOf.filter(isJsonObject).map((inner) => withText(inner, text)) };
  return { description: text, ...branch };
}

function narrowEnum(narrowed: Record<string, unknown>, values: readonly unknown[], notes: string[]): void {
  const listed = values.filter((value) => typeof value === 'string' && value !== '');
  if (narrowed.type === 'string' && listed.length === values.length) return;
  // An enum without the empty string would forbid it, so the values are named in words.
  delete narrowed.enum;
  notes.push(`Allowed values: ${values.map((value) => JSON.stringify(value)).join(', ')}.`);
}

function inclusiveBounds({ type, minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonObject): JsonObject {
  const step = type === 'integer' ? 1 : 0;
  const lower = [minimum, typeof exclusiveMinimum === 'number' ? above(exclusiveMinimum, step) : undefined].filter(isNumber);
  const upper = [maximum, typeof exclusiveMaximum === 'number' ? -above(-exclusiveMaximum, step) : undefined].filter(isNumber);
  return { ...(lower.length > 0 && { minimum: Math.max(...lower) }), ...(upper.length > 0 && { maximum: Math.min(...upper) }) };
}

/** The smallest integer above the bound; for other numbers the bound itself, which allows one value too many. */
function above(bound: number, step: number): number {
  return step === 0 ? bound : Math.floor(bound) + step;
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

function mapValues(properties: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, geminiSchema(isJsonObject(property) ? property : {})]),
  );
}
