import { CodedError } from './errors.js';
import { byCodeUnits, isDeeperThan, isJsonObject, isSameJson, MAX_DEPTH } from './json.js';
import type { ToolDefinition, WithheldTool } from './tool.js';
import { digestOfTool, uiMetaOf } from './tool-digest.js';

/** The bounds of CONTRACT.md 6.2 and 14.1. Sizes are in bytes of UTF-8. */
const MAX_TOOLS = 5_000;
const MAX_SCHEMA_BYTES = 256 * 1024;
const MAX_DESCRIPTION_BYTES = 64 * 1024;

/** One complete list, judged entry by entry. */
export interface JudgedTools {
  /** The tools that can be shown, sorted by name; no two have the same name. */
  readonly tools: readonly ToolDefinition[];
  /** One item for each entry that cannot be shown, sorted by name. */
  readonly withheld: readonly WithheldTool[];
  /** The digest of each tool in `tools`, by name. */
  readonly digests: ReadonlyMap<string, string>;
  /** The digest of every entry, withheld ones too, sorted. */
  readonly allDigests: readonly string[];
}

/**
 * Judges the raw entries of a complete tool list (CONTRACT.md 6.2): a tool that cannot be shown to a model is withheld with a
 * reason, and the others live on. The result does not depend on the order of the entries. Throws a CodedError LIST_MALFORMED
 * when an entry is no tool at all, and LIST_TOO_LARGE when there are more than 5 000 entries. A tool that is in `known` to the letter is
 * taken from there with its digest, because digests are most of what a list costs; the result does not depend on it.
 */
export function judgeTools(entries: readonly unknown[], known?: Pick<JudgedTools, 'tools' | 'digests'>): JudgedTools {
  if (entries.length > MAX_TOOLS) {
    throw new CodedError('LIST_TOO_LARGE', `The list has ${entries.length} tools; at most ${MAX_TOOLS} are accepted.`);
  }
  const byName = new Map(known?.tools.map((tool) => [tool.name, tool] as const));
  const judged = entries.map((entry, index) => {
    assertTool(entry, index);
    const tool = byName.get(entry.name);
    const digest = known?.digests.get(entry.name);
    if (tool !== undefined && digest !== undefined && isSameJson(tool, entry)) return { tool, digest, reason: undefined };
    return { tool: entry, digest: digestOfTool(entry), reason: reasonToWithhold(entry) };
  });
  // By digest within a name, so that which of two namesakes is kept does not depend on their order in the list.
  judged.sort((a, b) => byCodeUnits(a.tool.name, b.tool.name) || byCodeUnits(a.digest, b.digest));

  const kept = new Map<string, { readonly tool: ToolDefinition; readonly digest: string }>();
  const withheld: WithheldTool[] = [];
  for (const { tool, digest, reason } of judged) {
    if (reason !== undefined) withheld.push({ tool: tool.name, reason });
    else if (kept.has(tool.name)) withheld.push({ tool: tool.name, reason: 'The list has another tool with the same name.' });
    else kept.set(tool.name, { tool, digest });
  }
  return Object.freeze({
    tools: Object.freeze(Array.from(kept.values(), ({ tool }) => tool)),
    withheld: Object.freeze(withheld.sort((a, b) => byCodeUnits(a.tool, b.tool) || byCodeUnits(a.reason, b.reason))),
    digests: new Map(Array.from(kept, ([name, { digest }]) => [name, digest] as const)),
    allDigests: Object.freeze(judged.map(({ digest }) => digest).sort(byCodeUnits)),
  });
}

function assertTool(entry: unknown, index: number): asserts entry is ToolDefinition {
  if (!isJsonObject(entry)) {
    throw new CodedError('LIST_MALFORMED', `Entry ${index} of the tool list is ${kindOf(entry)}, not an object.`);
  }
  if (!Object.hasOwn(entry, 'name')) throw new CodedError('LIST_MALFORMED', `Entry ${index} of the tool list has no name.`);
  if (typeof entry.name !== 'string') {
    throw new CodedError('LIST_MALFORMED', `The name of entry ${index} of the tool list is ${kindOf(entry.name)}, not a string.`);
  }
  if (entry.name === '') throw new CodedError('LIST_MALFORMED', `The name of entry ${index} of the tool list is empty.`);
}

/**
 * Only fields that the digest covers are looked at: an unchanged digest therefore means an unchanged judgement, and a snapshot
 * with an equal fingerprint can stay as it is.
 */
function reasonToWithhold(tool: ToolDefinition): string | undefined {
  const counted = [tool.inputSchema, tool.outputSchema, tool.annotations, tool.description, tool.title, uiMetaOf(tool)];
  if (counted.some((value) => isDeeperThan(value, MAX_DEPTH))) return `Its JSON is nested deeper than ${MAX_DEPTH} levels.`;
  return reasonOfSchema(tool.inputSchema) ?? reasonOfDescription(tool.description);
}

function reasonOfSchema(schema: unknown): string | undefined {
  if (schema === undefined) return 'It has no inputSchema.';
  if (!isJsonObject(schema)) return `Its inputSchema is ${kindOf(schema)}, not an object.`;
  // Without a type, the root may still be an object schema (`properties`, or a union of objects), which the projection folds.
  const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? 'object'];
  if (!types.includes('object')) return "The root type of its inputSchema is not 'object'.";
  const bytes = Buffer.byteLength(JSON.stringify(schema));
  return bytes > MAX_SCHEMA_BYTES ? `Its inputSchema has ${bytes} bytes; at most ${MAX_SCHEMA_BYTES} are accepted.` : undefined;
}

function reasonOfDescription(description: unknown): string | undefined {
  if (description === undefined) return undefined;
  if (typeof description !== 'string') return `Its description is ${kindOf(description)}, not a string.`;
  const bytes = Buffer.byteLength(description);
  return bytes > MAX_DESCRIPTION_BYTES ? `Its description has ${bytes} bytes; at most ${MAX_DESCRIPTION_BYTES} are accepted.` : undefined;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
