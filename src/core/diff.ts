import type { Catalog } from './catalog.js';
import { byCodeUnits } from './json.js';
import type { Snapshot } from './snapshot.js';
import type { CatalogChanges } from './status.js';
import type { ToolDefinition } from './tool.js';
import { canonicalSchemaText, canonicalText, uiMetaOf } from './tool-digest.js';
import { nameTools } from './tool-names.js';

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
const PARTS: readonly (readonly [ChangeClass, (tool: ToolDefinition) => string])[] = [
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
  const { added, removed, changed } = compare(shownTools(before), shownTools(after));
  return { added, removed, changed };
}

/** What differs between two snapshots of one toolset; without a `before`, every tool is added. */
export function diffSnapshots(before: Snapshot | undefined, after: Snapshot): SnapshotChanges {
  const { added, removed, changed } = compare(before?.digests ?? new Map(), after.digests);
  const toolsBefore = toolsByName(before);
  const toolsAfter = toolsByName(after);
  const changes = changed.map((name) => ({ tool: name, classes: classesOf(toolsBefore.get(name), toolsAfter.get(name)) }));
  const found = new Set(changes.flatMap(({ classes }) => classes));
  if (added.length > 0) found.add('added');
  if ((before?.instructions ?? '') !== (after.instructions ?? '')) found.add('instructions');
  if (credentialsOf(before) !== credentialsOf(after)) found.add('credentials');
  return { added, removed, changed: changes, classes: CLASSES.filter((name) => found.has(name)) };
}

function compare(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): CatalogChanges {
  const namesBefore = [...before.keys()];
  const namesAfter = [...after.keys()];
  return {
    added: namesAfter.filter((name) => !before.has(name)).sort(byCodeUnits),
    removed: namesBefore.filter((name) => !after.has(name)).sort(byCodeUnits),
    changed: namesAfter.filter((name) => before.has(name) && before.get(name) !== after.get(name)).sort(byCodeUnits),
  };
}

/** What is behind each shown name. The URL is left out: a toolset that moved still offers the model the same tools. */
function shownTools(catalog: Catalog | undefined): Map<string, string> {
  if (catalog === undefined) return new Map();
  return new Map(
    nameTools(catalog).map(({ name, toolset, original, digest }) => [name, JSON.stringify([toolset, original, digest])] as const),
  );
}

function toolsByName(snapshot: Snapshot | undefined): Map<string, ToolDefinition> {
  return new Map(snapshot?.tools.map((tool) => [tool.name, tool] as const));
}

function classesOf(before: ToolDefinition | undefined, after: ToolDefinition | undefined): ChangeClass[] {
  if (before === undefined || after === undefined) return [];
  return PARTS.filter(([, textOf]) => textOf(before) !== textOf(after)).map(([name]) => name);
}

function credentialsOf(snapshot: Snapshot | undefined): string {
  return canonicalText([...new Set(snapshot?.credentialHeaders)].sort(byCodeUnits));
}
