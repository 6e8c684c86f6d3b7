import type { Catalog } from './catalog.js';
import { differingTools } from './diff.js';
import type { GenerationRecord, ToolFact } from './facts.js';
import type { Generation } from './generation.js';
import type { CatalogChanges, RoundRecord } from './status.js';
import type { JsonObject } from './tool.js';

/** How large the definitions of one record may be together, in characters of JSON; beyond it they are left out. */
const DEFINITIONS_LIMIT = 1024 * 1024;

export interface RecordInput {
  readonly generation: Generation;
  readonly before: Catalog | null;
  readonly round: RoundRecord;
  readonly instance: string;
}

/** Writes down a generation with the whole definitions of the tools that its swap changed (CONTRACT.md 9). */
export function recordGeneration({ generation, before, round, instance }: RecordInput): GenerationRecord {
  const { number, fingerprint, builtAt, catalog } = generation;
  const { changes } = round;
  const { old, now } = differingTools(before ?? undefined, catalog);
  const { tools, omitted } = factsOf(changes, old, now);
  return {
    number,
    fingerprint,
    instance,
    at: builtAt.toISOString(),
    trigger: round.trigger,
    toolsets: catalog.snapshots.map(({ toolset, fingerprint: digest, tools: list }) => ({
      name: toolset,
      fingerprint: digest,
      tools: list.length,
    })),
    swapped: round.toolsets.swapped,
    changes,
    tools,
    omitted,
  };
}

type ToolsByName = ReadonlyMap<string, { readonly toolset: string; readonly tool: JsonObject }>;

/** The whole definitions of changed tools, as many as fit the bound. */
export function factsOf(
  changes: CatalogChanges,
  then: ToolsByName,
  now: ToolsByName,
): { readonly tools: readonly ToolFact[]; readonly omitted: number } {
  const tools: ToolFact[] = [];
  let left = DEFINITIONS_LIMIT;
  let omitted = 0;
  for (const change of ['changed', 'added', 'removed'] as const) {
    for (const name of changes[change]) {
      const fact: ToolFact = {
        name,
        toolset: (now.get(name) ?? then.get(name))?.toolset ?? '',
        change,
        before: then.get(name)?.tool ?? null,
        after: now.get(name)?.tool ?? null,
      };
      const size = left <= 0 ? Number.POSITIVE_INFINITY : JSON.stringify(fact).length;
      if (size > left) {
        omitted += 1;
        continue;
      }
      left -= size;
      tools.push(fact);
    }
  }
  return { tools, omitted };
}
