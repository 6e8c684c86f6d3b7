import { byCodeUnits } from './json.js';
import { hashedName, ILLEGAL_IN_TOOL_NAMES, isLegalName, type LegalNameInput, legalName } from './legal-name.js';
import { OwnNames, type OwnNamesChange } from './own-names.js';
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

/** The tools of a catalog that are shown to the model, under the names that it sees. */
export interface CatalogNames {
  /** Sorted by toolset, then name. */
  readonly tools: readonly NamedTool[];
  /**
   * The same, one group for each snapshot, in the order of the snapshots. Where a toolset and its tools' names are as they were in the
   * catalog before, the group is the very same array there: whoever compares two catalogs need not look into it.
   */
  readonly groups: readonly Group[];
  /** For the catalog that comes after this one. */
  readonly ownNames: OwnNames;
}

type Group = readonly NamedTool[];

/** How many tools might be shown under a name. */
type Claims = Map<string, number>;

/**
 * Names the tools that are shown to the model, sorted by toolset, then name (CONTRACT.md 5.4, 6.1).
 *
 * A tool whose own name is legal and whose own name no other tool has keeps it, also when the replacement of illegal characters
 * would turn another tool's name into it. Any other tool takes the first name that no other tool might take: its own name
 * made legal, `<toolset>__<tool>`, and that with a hash. What other tools *might* take counts, not what they do take: so
 * a tool's name depends only on the tools that share a possible name with it, and on no chain of clashes among others.
 *
 * The names depend on the snapshots alone. `before`, the catalog that came before, only saves making again what is in it.
 */
export function nameTools(
  snapshots: readonly Snapshot[],
  before?: { readonly snapshots: readonly Snapshot[]; readonly names: CatalogNames },
): CatalogNames {
  const known = new Map(before?.snapshots.map((snapshot, index) => [snapshot, before.names.groups[index] ?? []] as const));
  const given = snapshots.map((snapshot) => known.get(snapshot) ?? ownNamesOf(snapshot));
  const ownNames = OwnNames.count(given, before && changeOf(before.names, given));
  const groups = ownNames.allKept && before?.names.ownNames.allKept !== false ? given : finalNames(given, ownNames);
  // `concat` takes a tenth of the time of `flat`.
  const tools = Object.freeze(([] as NamedTool[]).concat(...groups));
  return Object.freeze({ tools, groups: Object.freeze(groups), ownNames });
}

function changeOf({ groups, ownNames }: CatalogNames, after: readonly Group[]): OwnNamesChange {
  const [one, other] = [new Set(groups), new Set(after)];
  return { from: ownNames, added: after.filter((group) => !one.has(group)), removed: groups.filter((group) => !other.has(group)) };
}

/** The groups with the names that the model sees, whatever names the tools in them had before. */
function finalNames(groups: readonly Group[], ownNames: OwnNames): readonly Group[] {
  const all = ([] as NamedTool[]).concat(...groups);
  const others = all.filter(({ original }) => !ownNames.isUnique(original) || !isLegalName(original, ILLEGAL_IN_TOOL_NAMES));
  const names = others.length === 0 ? new Map<NamedTool, string>() : namesOf(others, all);
  return groups.map((group) => renamed(group, (tool) => names.get(tool) ?? tool.original));
}

/** The snapshot's tools under their own names, sorted as the snapshot is. */
function ownNamesOf({ toolset, id, digests, tools }: Snapshot): Group {
  const named = tools.filter(isShownToModel).map((tool) =>
    Object.freeze({
      ...{ name: tool.name, toolset, snapshotId: id, original: tool.name, tool },
      digest: digests.get(tool.name) ?? '',
    }),
  );
  return Object.freeze(named);
}

/** The group with these names, sorted by them; the very same group where it has them already. */
function renamed(group: Group, nameOf: (tool: NamedTool) => string): Group {
  if (group.every((tool) => tool.name === nameOf(tool))) return group;
  const tools = group.map((tool) => (tool.name === nameOf(tool) ? tool : Object.freeze({ ...tool, name: nameOf(tool) })));
  return Object.freeze(tools.sort((a, b) => byCodeUnits(a.name, b.name)));
}

function ownInput({ toolset, original }: NamedTool): LegalNameInput {
  return { raw: original, illegal: ILLEGAL_IN_TOOL_NAMES, identity: [toolset, original] };
}

function fullInput({ toolset, original }: NamedTool): LegalNameInput {
  return { raw: `${toolset}__${original}`, illegal: ILLEGAL_IN_TOOL_NAMES, identity: [toolset, original] };
}

/** Names the tools that cannot keep their own name to the letter. `all` are the tools of the catalog, which claim names too. */
function namesOf(tools: readonly NamedTool[], all: readonly NamedTool[]): Map<NamedTool, string> {
  const claims: Claims = new Map();
  for (const tool of all) for (const name of new Set([legalName(ownInput(tool)), legalName(fullInput(tool))])) count(claims, name);
  const isPlain = (name: string) => claims.get(name) === 1 && !looksHashed(name);
  const names = new Map<NamedTool, string>();
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
function carefulName(tool: NamedTool, claims: Claims): string {
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
