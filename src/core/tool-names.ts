import type { Catalog } from './catalog.js';
import { byCodeUnits } from './json.js';
import { hashedName, ILLEGAL_IN_TOOL_NAMES, isLegalName, type LegalNameInput, legalName } from './legal-name.js';
import { isShownToModel, type Snapshot } from './snapshot.js';
import type { ToolDefinition } from './tool.js';

/** One tool under the name that the model sees. */
export interface NamedTool {
  /** The name that the model sees: `^[A-Za-z0-9_-]{1,64}$`, unique in the catalog. */
  readonly name: string;
  /** The toolset's name. */
  readonly toolset: string;
  /** The toolset's identity, {@link import('./snapshot.js').Snapshot.id}. */
  readonly snapshotId: string;
  /** The tool's own name, which its toolset is called with. */
  readonly original: string;
  readonly tool: ToolDefinition;
  readonly digest: string;
}

/** A tool that waits for its name. */
type Unnamed = Omit<NamedTool, 'name'>;

/** How many tools might be shown under a name. */
type Claims = Map<string, number>;

/**
 * Names the tools that are shown to the model, sorted by toolset, then name (CONTRACT.md 5.4, 6.1).
 *
 * A tool whose own name is legal and whose own name no other tool has keeps it, also when the replacement of illegal characters
 * would turn another tool's name into it. Any other tool takes the first name that no other tool might take: its own name
 * made legal, `<toolset>__<tool>`, and that with a hash. What other tools *might* take counts, not what they do take: so
 * a tool's name depends only on the tools that share a possible name with it, and on no chain of clashes among others.
 */
export function nameTools(catalog: Catalog): readonly NamedTool[] {
  const groups = catalog.snapshots.map((snapshot) => snapshot.tools.filter(isShownToModel).map((tool) => unnamed(snapshot, tool)));
  const all = groups.flat();
  const owners: Claims = new Map();
  for (const { original } of all) count(owners, original);
  const isKept = ({ original }: Unnamed) => owners.get(original) === 1 && isLegalName(original, ILLEGAL_IN_TOOL_NAMES);
  const others = all.filter((tool) => !isKept(tool));
  const names = others.length === 0 ? new Map<Unnamed, string>() : namesOf(others, all);
  const named = groups.map((group) =>
    group
      .map((tool) => Object.freeze({ name: names.get(tool) ?? tool.original, ...tool }))
      // The groups are in order already, because a catalog's snapshots are.
      .sort((a, b) => byCodeUnits(a.name, b.name)),
  );
  return Object.freeze(named.flat());
}

function unnamed(snapshot: Snapshot, tool: ToolDefinition): Unnamed {
  const { toolset, id, digests } = snapshot;
  return { toolset, snapshotId: id, original: tool.name, tool, digest: digests.get(tool.name) ?? '' };
}

function ownInput({ toolset, original }: Unnamed): LegalNameInput {
  return { raw: original, illegal: ILLEGAL_IN_TOOL_NAMES, identity: [toolset, original] };
}

function fullInput({ toolset, original }: Unnamed): LegalNameInput {
  return { raw: `${toolset}__${original}`, illegal: ILLEGAL_IN_TOOL_NAMES, identity: [toolset, original] };
}

/** Names the tools that cannot keep their own name to the letter. `all` are the tools of the catalog, which claim names too. */
function namesOf(tools: readonly Unnamed[], all: readonly Unnamed[]): Map<Unnamed, string> {
  const claims: Claims = new Map();
  for (const tool of all) for (const name of new Set([legalName(ownInput(tool)), legalName(fullInput(tool))])) count(claims, name);
  const isPlain = (name: string) => claims.get(name) === 1 && !looksHashed(name);
  const names = new Map<Unnamed, string>();
  for (const tool of tools) {
    const name = [legalName(ownInput(tool)), legalName(fullInput(tool))].find(isPlain);
    if (name !== undefined) names.set(tool, name);
  }
  // Hashing each tool of the catalog is the dearest step, and few catalogs have a clash that asks for it.
  if (names.size === tools.length) return names;
  for (const tool of all) {
    const hashed = hashedName(fullInput(tool), 0);
    if (hashed !== legalName(ownInput(tool)) && hashed !== legalName(fullInput(tool))) count(claims, hashed);
  }
  for (const tool of tools) if (!names.has(tool)) names.set(tool, carefulName(tool, claims));
  return names;
}

/**
 * The first name that is free, with the hashed ones counted as claims too. It ends, because the claims are finite and each attempt
 * gives another name.
 */
function carefulName(tool: Unnamed, claims: Claims): string {
  const full = fullInput(tool);
  for (const name of [legalName(ownInput(tool)), legalName(full), hashedName(full, 0)]) if (claims.get(name) === 1) return name;
  for (let attempt = 1; ; attempt += 1) {
    const name = hashedName(full, attempt);
    if (!claims.has(name)) return name;
  }
}

/** Whether another tool's hashed name might be equal to this one. */
function looksHashed(name: string): boolean {
  return /_[0-9a-f]{8}$/.test(name);
}

function count(counts: Claims, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
