import { toJSONSchema, type ZodType } from 'zod';
import { byCodeUnits, isJsonObject } from './json.js';
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
 * Schema or a zod 4 schema.
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
 * for a schema that is neither a JSON Schema nor a zod 4 schema.
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
  if (isZod4(schema)) return toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  // A zod 3 schema is an object with methods; hashed as data, every schema would look like every other.
  if (!isJsonObject(schema) || typeof schema.safeParse === 'function') {
    throw new TypeError(`fingerprint: the schema of tool '${name}' is neither a JSON Schema nor a zod 4 schema.`);
  }
  return schema;
}

function isZod4(schema: unknown): schema is ZodType {
  return isJsonObject(schema) && typeof schema._zod === 'object' && typeof schema.safeParse === 'function';
}
