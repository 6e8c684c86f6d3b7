import type { Catalog } from './catalog.js';
import { byCodeUnits } from './json.js';
import type { Snapshot } from './snapshot.js';
import type { CatalogChanges } from './status.js';
import type { JsonObject, ToolDefinition } from './tool.js';
import { canonicalSchemaText, canonicalText, uiMetaOf } from './tool-digest.js';
import type { NamedTool } from './tool-names.js';

/** What a change is about (CONTRACT.md 15.1). A removed tool has no class: taking tools away needs no review. */
export type ChangeClass = 'added' | 'text' | 'parameters' | 'output' | 'annotations' | 'view' | 'instructions' | 'credentials';

export interface ToolChange {
  readonly tool: string;
  /** What differs, in the order of {@link ChangeClass}. */
  readonly classes: readonly ChangeClass[];
}

/** How one toolset differs from before; tools by their own names, sorted. */
export interface SnapshotChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly ToolChange[];
  /** Every class that occurs, also those of the toolset as a whole. Empty when nothing but removals differs. */
  readonly classes: readonly ChangeClass[];
}

const CLASSES: readonly ChangeClass[] = ['added', 'text', 'parameters', 'output', 'annotations', 'view', 'instructions', 'credentials'];

/** Says for each class of a changed tool how its part of the definition is written for comparison. */
const PARTS: readonly (readonly [ChangeClass, (tool: JsonObject) => string])[] = [
  ['text', (tool) => canonicalText([tool.title, tool.description])],
  ['parameters', (tool) => canonicalSchemaText(tool.inputSchema)],
  ['output', (tool) => canonicalSchemaText(tool.outputSchema)],
  ['annotations', (tool) => canonicalText(tool.annotations)],
  ['view', (tool) => canonicalText(uiMetaOf(tool))],
];

/**
 * What differs for the model between two catalogs, by the names that the model sees. A tool is changed when its digest differs,
 * or when the name now belongs to another tool. Two equal catalogs give three empty lists.
 */
export function diffCatalogs(before: Catalog | undefined, after: Catalog): CatalogChanges {
  if (before?.fingerprint === after.fingerprint) return { added: [], removed: [], changed: [] };
  const { old, now } = differingTools(before, after);
  return compare(old, now, isSameTool);
}

/**
 * The tools of two catalogs by the names that the model sees, without those of toolsets that are the very same in both. A swap
 * of one toolset among hundreds therefore costs what that toolset costs.
 */
export function differingTools(
  before: Catalog | undefined,
  after: Catalog,
): { readonly old: ReadonlyMap<string, NamedTool>; readonly now: ReadonlyMap<string, NamedTool> } {
  const groupsBefore = new Set(before?.names.groups);
  const groupsAfter = new Set(after.names.groups);
  const byName = (groups: Iterable<readonly NamedTool[]>, others: ReadonlySet<readonly NamedTool[]>) =>
    new Map([...groups].flatMap((group) => (others.has(group) ? [] : group.map((tool) => [tool.name, tool] as const))));
  return { old: byName(groupsBefore, groupsAfter), now: byName(groupsAfter, groupsBefore) };
}

/** What differs between two snapshots of one toolset; without a `before`, every tool is added. */
export function diffSnapshots(before: Snapshot | undefined, after: Snapshot): SnapshotChanges {
  const { added, removed, changed } = compare(before?.digests ?? new Map<string, string>(), after.digests, (one, other) => one === other);
  const toolsBefore = toolsByName(before);
  const toolsAfter = toolsByName(after);
  const changes = changed.map((name) => ({ tool: name, classes: classesOfTool(toolsBefore.get(name), toolsAfter.get(name)) }));
  const found = new Set(changes.flatMap(({ classes }) => classes));
  if (added.length > 0) found.add('added');
  if ((before?.instructions ?? '') !== (after.instructions ?? '')) found.add('instructions');
  if (credentialsOf(before) !== credentialsOf(after)) found.add('credentials');
  return { added, removed, changed: changes, classes: CLASSES.filter((name) => found.has(name)) };
}

function compare<T>(before: ReadonlyMap<string, T>, after: ReadonlyMap<string, T>, isSame: (one: T, other: T) => boolean): CatalogChanges {
  const added: string[] = [];
  const changed: string[] = [];
  for (const [name, now] of after) {
    const then = before.get(name);
    if (then === undefined) added.push(name);
    else if (!isSame(then, now)) changed.push(name);
  }
  const removed = [...before.keys()].filter((name) => !after.has(name));
  return { added: added.sort(byCodeUnits), removed: removed.sort(byCodeUnits), changed: changed.sort(byCodeUnits) };
}

/** The URL does not count: a toolset that moved still offers the model the same tools. */
function isSameTool(one: NamedTool, other: NamedTool): boolean {
  return one.toolset === other.toolset && one.original === other.original && one.digest === other.digest;
}

function toolsByName(snapshot: Snapshot | undefined): Map<string, ToolDefinition> {
  return new Map(snapshot?.tools.map((tool) => [tool.name, tool] as const));
}

/** What differs between two definitions of one tool; nothing where one of them is not there. */
export function classesOfTool(before: JsonObject | null | undefined, after: JsonObject | null | undefined): ChangeClass[] {
  if (before == null || after == null) return [];
  return PARTS.filter(([, textOf]) => textOf(before) !== textOf(after)).map(([name]) => name);
}

function credentialsOf(snapshot: Snapshot | undefined): string {
  return canonicalText([...new Set(snapshot?.credentialHeaders)].sort(byCodeUnits));
}
