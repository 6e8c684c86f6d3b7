import type { Catalog } from './catalog.js';
import { byCodeUnits } from './json.js';
import { hashedName, ILLEGAL_IN_TOOL_NAMES, isLegalName, type LegalNameInput, legalName } from './legal-name.js';
import { isShownToModel } from './snapshot.js';
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

/** A tool with every name that it might be shown under, from the plainest to the safest. */
interface Candidate {
  readonly named: Omit<NamedTool, 'name'>;
  /** Its own name, made legal. */
  readonly own: string;
  /** `<toolset>__<tool>`, made legal. */
  readonly full: string;
  readonly isLiteral: boolean;
  readonly fullInput: LegalNameInput;
}

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
  const candidates = candidatesOf(catalog);
  const owners = new Map<string, number>();
  const claims: Claims = new Map();
  for (const { named, own, full } of candidates) {
    count(owners, named.original);
    for (const name of new Set([own, full])) count(claims, name);
  }
  const names = namesOf({ candidates, owners, claims });
  const tools = candidates.map(({ named }, index) => Object.freeze({ name: names[index] as string, ...named }));
  return Object.freeze(tools.sort((a, b) => byCodeUnits(a.toolset, b.toolset) || byCodeUnits(a.name, b.name)));
}

function candidatesOf(catalog: Catalog): Candidate[] {
  return catalog.snapshots.flatMap((snapshot) =>
    snapshot.tools.filter(isShownToModel).map((tool) => {
      const original = tool.name;
      const identity = [snapshot.toolset, original];
      const fullInput = { raw: `${snapshot.toolset}__${original}`, illegal: ILLEGAL_IN_TOOL_NAMES, identity };
      return {
        named: { toolset: snapshot.toolset, snapshotId: snapshot.id, original, tool, digest: snapshot.digests.get(original) ?? '' },
        own: legalName({ raw: original, illegal: ILLEGAL_IN_TOOL_NAMES, identity }),
        full: legalName(fullInput),
        isLiteral: isLegalName(original, ILLEGAL_IN_TOOL_NAMES),
        fullInput,
      };
    }),
  );
}

interface NamesInput {
  readonly candidates: readonly Candidate[];
  /** How many tools have a name as their own, to the letter. */
  readonly owners: ReadonlyMap<string, number>;
  readonly claims: Claims;
}

function namesOf({ candidates, owners, claims }: NamesInput): string[] {
  const plain = candidates.map((candidate) => {
    const { named, own, full, isLiteral } = candidate;
    if (isLiteral && owners.get(named.original) === 1) return own;
    return [own, full].find((name) => claims.get(name) === 1 && !looksHashed(name));
  });
  // Hashing each tool is the dearest step, and most catalogs have no clash that asks for it.
  if (!plain.includes(undefined)) return plain as string[];
  for (const { own, full, fullInput } of candidates) {
    const hashed = hashedName(fullInput, 0);
    if (hashed !== own && hashed !== full) count(claims, hashed);
  }
  return candidates.map((candidate, index) => plain[index] ?? carefulName(candidate, claims));
}

/** The first name, with the hashed ones counted as claims too. It ends: the claims are finite, and each attempt gives another name. */
function carefulName({ own, full, fullInput }: Candidate, claims: Claims): string {
  for (const name of [own, full, hashedName(fullInput, 0)]) if (claims.get(name) === 1) return name;
  for (let attempt = 1; ; attempt += 1) {
    const name = hashedName(fullInput, attempt);
    if (!claims.has(name)) return name;
  }
}

/** Whether another tool's hashed name might be equal to this one. */
function looksHashed(name: string): boolean {
  return /_[0-9a-f]{8}$/.test(name);
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
