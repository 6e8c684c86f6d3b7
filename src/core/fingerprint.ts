import { toJSONSchema, type ZodType } from 'zod';
import { byCodeUnits, isJsonObject, MAX_DEPTH } from './json.js';
import type { Snapshot } from './snapshot.js';
import type { ToolDefinition } from './tool.js';
import { canonicalText, digestOfTool, sha256 } from './tool-digest.js';

/** What a toolset's fingerprint is made of (CONTRACT.md 5.1). */
export interface ToolsetContent {
  /** The digest of every entry of the list, withheld ones too; their order does not count. */
  readonly digests: readonly string[];
  readonly instructions: string | undefined;
  readonly credentialHeaders: readonly string[];
}

/**
 * A tool as a host holds it: as MCP lists it, with `inputSchema`, or as LangChain holds it, with `schema`. Either is a JSON
 * Schema or a zod schema.
 */
export interface FingerprintedTool {
  readonly name: string;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly schema?: unknown;
}

/** The fingerprint of one toolset (CONTRACT.md 5). */
export function fingerprintOfToolset(content: ToolsetContent): string {
  return sha256(
    canonicalText([
      [...content.digests].sort(byCodeUnits),
      content.instructions ?? null,
      [...new Set(content.credentialHeaders)].sort(byCodeUnits),
    ]),
  );
}

/** The fingerprint of all toolsets together: of their names, URLs and fingerprints, in any order (CONTRACT.md 5.1). */
export function fingerprintOfCatalog(snapshots: Iterable<Pick<Snapshot, 'toolset' | 'url' | 'fingerprint'>>): string {
  const lines = Array.from(snapshots, ({ toolset, url, fingerprint }) => canonicalText([toolset, url, fingerprint]));
  return sha256(lines.sort(byCodeUnits).join('\n'));
}

/**
 * The fingerprint of a set of tools, for hosts that keep their own agent (CONTRACT.md 12.2): equal exactly when names,
 * descriptions and schemas are equal, whatever the order of tools and keys. Throws a TypeError for a tool without a name, and
 * for a schema that is no object.
 */
export function fingerprint(tools: readonly FingerprintedTool[]): string {
  return sha256(tools.map(digestOfHostTool).sort(byCodeUnits).join('\n'));
}

function digestOfHostTool(tool: FingerprintedTool): string {
  if (typeof tool.name !== 'string') throw new TypeError('fingerprint: a tool without a name.');
  const { title, outputSchema, annotations, _meta } = tool as ToolDefinition;
  const inputSchema = jsonSchemaOf(tool.name, tool.inputSchema ?? tool.schema);
  return digestOfTool({ name: tool.name, description: tool.description, title, inputSchema, outputSchema, annotations, _meta });
}

function jsonSchemaOf(name: string, schema: unknown): unknown {
  if (schema === undefined || typeof schema === 'boolean') return schema;
  if (!isJsonObject(schema)) throw new TypeError(`fingerprint: the schema of tool '${name}' is neither a JSON Schema nor a zod schema.`);
  if (isZod4(schema)) return toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return typeof schema.safeParse === 'function' ? zod3Definition(schema, 0) : schema;
}

function isZod4(schema: unknown): schema is ZodType {
  return isJsonObject(schema) && typeof schema._zod === 'object' && typeof schema.safeParse === 'function';
}

/**
 * What a zod 3 schema is made of, apart from its functions. LangChain's tools that take one text have such a schema, and zod 4
 * cannot convert it.
 */
function zod3Definition(value: unknown, depth: number): unknown {
  if (value instanceof RegExp) return String(value);
  if (Array.isArray(value)) return value.map((item) => zod3Definition(item, depth + 1));
  if (!isJsonObject(value) || depth > MAX_DEPTH) return value;
  if (isJsonObject(value._def)) return zod3Definition(value._def, depth + 1);
  const entries = Object.entries(value).map(([key, item]) => [key, key === 'shape' && typeof item === 'function' ? item() : item] as const);
  return Object.fromEntries(entries.map(([key, item]) => [key, zod3Definition(item, depth + 1)]));
}
