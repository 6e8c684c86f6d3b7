import { hash } from 'node:crypto';
import { byCodeUnits, isJsonObject, MAX_DEPTH } from './json.js';
import type { JsonObject, ToolDefinition } from './tool.js';

/**
 * What the keys of an object mean, which decides whether the order of a `required` array counts:
 * `schema` is a JSON Schema, `schemas` maps names to JSON Schemas (`properties`), `data` is anything else (`default`, `enum`).
 */
type Position = 'schema' | 'schemas' | 'data';

const SCHEMA_MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);

const SUBSCHEMAS = new Set([
  'items',
  'prefixItems',
  'additionalItems',
  'contains',
  'additionalProperties',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
  'contentSchema',
  'not',
  'if',
  'then',
  'else',
  'anyOf',
  'oneOf',
  'allOf',
]);

/** Stands for everything that is nested deeper than {@link MAX_DEPTH}. It is no JSON, so no tool can imitate it. */
const TOO_DEEP = '…';

/** The fields of a tool that its identity is made of, in the order in which they are written (CONTRACT.md 5.1). */
const FIELDS = ['annotations', 'description', 'inputSchema', 'name', 'outputSchema', 'title'] as const;

/** The SHA-256 of a text, written `sha256-` and 64 hexadecimal digits (CONTRACT.md 5.2). */
export function sha256(text: string): string {
  return `sha256-${hash('sha256', text, 'hex')}`;
}

/** The canonical JSON text of plain data: object keys sorted at every depth, arrays in their order. */
export function canonicalText(value: unknown): string {
  return write(value, 'data', 1);
}

/** The canonical JSON text of a JSON Schema: as {@link canonicalText}, and the order of `required` does not count. */
export function canonicalSchemaText(schema: unknown): string {
  return write(schema, 'schema', 1);
}

/**
 * The part of a tool's `_meta` that counts (CONTRACT.md 5.1): how the tool is shown in a view. The older spelling of its URI,
 * `_meta["ui/resourceUri"]`, counts where the newer one is not there, because it says the same.
 */
export function uiMetaOf(tool: Pick<ToolDefinition, '_meta'>): unknown {
  if (!isJsonObject(tool._meta)) return undefined;
  const ui = Object.hasOwn(tool._meta, 'ui') ? tool._meta.ui : undefined;
  const flat = Object.hasOwn(tool._meta, 'ui/resourceUri') ? tool._meta['ui/resourceUri'] : undefined;
  if (flat === undefined || (ui !== undefined && !isJsonObject(ui)) || ui?.resourceUri !== undefined) return ui;
  return { ...ui, resourceUri: flat };
}

/**
 * The digest of one tool: of its name, title, description, schemas, annotations and `_meta.ui`, and of nothing else
 * (CONTRACT.md 5.1). It is taken from the raw text, so that hidden characters count as a change.
 */
export function digestOfTool(tool: ToolDefinition): string {
  let text = '';
  for (const field of FIELDS) {
    const value = tool[field];
    if (value === undefined) continue;
    text += `${field}:${field === 'inputSchema' || field === 'outputSchema' ? canonicalSchemaText(value) : canonicalText(value)}\n`;
  }
  const ui = uiMetaOf(tool);
  if (ui !== undefined) text += `ui:${canonicalText(ui)}\n`;
  return sha256(text);
}

function write(value: unknown, position: Position, depth: number): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') return Number.isFinite(value) ? JSON.stringify(value) : String(value);
  if (typeof value !== 'object' || value === null) return String(value);
  if (depth > MAX_DEPTH) return TOO_DEEP;
  return Array.isArray(value) ? writeArray(value, position, depth) : writeObject(value as JsonObject, position, depth);
}

function writeArray(items: readonly unknown[], position: Position, depth: number): string {
  // An array in the place of a map of schemas is no schema; inside it, nothing is a keyword.
  const inner = position === 'schemas' ? 'data' : position;
  let text = '[';
  for (const [index, item] of items.entries()) text += (index === 0 ? '' : ',') + write(item, inner, depth + 1);
  return `${text}]`;
}

function writeObject(object: JsonObject, position: Position, depth: number): string {
  let text = '{';
  for (const key of Object.keys(object).sort(byCodeUnits)) {
    const value = object[key];
    // Hosts hand in objects that never were JSON text; what JSON would leave out is left out.
    if (value === undefined || typeof value === 'function') continue;
    const isUnordered = key === 'required' && position === 'schema' && isStringArray(value);
    const written = isUnordered ? write([...value].sort(byCodeUnits), 'data', depth + 1) : write(value, under(position, key), depth + 1);
    text += `${text === '{' ? '' : ','}${JSON.stringify(key)}:${written}`;
  }
  return `${text}}`;
}

function under(position: Position, key: string): Position {
  if (position === 'schemas') return 'schema';
  if (position === 'data') return 'data';
  return SCHEMA_MAPS.has(key) ? 'schemas' : SUBSCHEMAS.has(key) ? 'schema' : 'data';
}

function isStringArray(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
