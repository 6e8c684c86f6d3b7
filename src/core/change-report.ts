import { type ChangeClass, classesOfTool, diffSnapshots } from './diff.js';
import type { GenerationRecord, ToolFact } from './facts.js';
import { factsOf } from './generation-record.js';
import type { Snapshot } from './snapshot.js';
import type { CatalogChanges, ShownError } from './status.js';
import { diffField, diffTool, type FieldDiff } from './tool-diff.js';
import type { Waiting } from './waiting.js';

/** What happened to one tool: its whole raw definition before and after, what differs, and the lines that differ. */
export interface ToolReport extends ToolFact {
  readonly classes: readonly ChangeClass[];
  readonly diff: readonly FieldDiff[];
}

/** One generation with the diff of each changed tool (CONTRACT.md 9, `GET /generations/{n}`). */
export interface GenerationReport extends GenerationRecord {
  readonly tools: readonly ToolReport[];
}

/** A complete list that is not live yet, and how it differs from what is (CONTRACT.md 15.1). */
export interface HeldReport {
  readonly toolset: string;
  readonly reason: Waiting['reason'];
  readonly fingerprint: string;
  /** ISO 8601. */
  readonly since: string;
  readonly classes: readonly ChangeClass[];
  /** By the tools' own names. */
  readonly changes: CatalogChanges;
  readonly tools: readonly ToolReport[];
  /** How many changed tools are not in `tools`, because the answer would have become too large. */
  readonly omitted: number;
  /** How the server's instructions differ; empty where they do not. */
  readonly instructions: readonly FieldDiff[];
  readonly credentials: { readonly before: readonly string[]; readonly after: readonly string[] };
}

export function reportGeneration(record: GenerationRecord): GenerationReport {
  return { ...record, tools: record.tools.map(reportTool) };
}

export interface HeldInput {
  readonly waiting: Waiting;
  readonly before: Snapshot | undefined;
  readonly since: string;
}

export function reportHeld({ waiting: { reason, snapshot }, before, since }: HeldInput): HeldReport {
  const { toolset, fingerprint, instructions, credentialHeaders } = snapshot;
  const { added, removed, changed, classes } = diffSnapshots(before, snapshot);
  const changes = { added, removed, changed: changed.map(({ tool }) => tool) };
  const byName = (tools: Snapshot | undefined) =>
    new Map(tools?.tools.map((tool) => [tool.name, { toolset: tools.toolset, tool }] as const));
  const { tools, omitted } = factsOf(changes, byName(before), byName(snapshot));
  return {
    ...{ toolset, reason, fingerprint, since, classes, changes, omitted },
    tools: tools.map(reportTool),
    instructions: diffField('instructions', before?.instructions, instructions),
    credentials: { before: before?.credentialHeaders ?? [], after: credentialHeaders },
  };
}

/** What a dry run found about one toolset (CONTRACT.md 9, `POST /refresh?dry=true`). */
export interface ToolsetPreview {
  readonly name: string;
  readonly outcome: 'would-swap' | 'would-reject' | 'would-hold' | 'unchanged' | 'failed';
  /** Of the list that the toolset answered; null where it failed. */
  readonly fingerprint: string | null;
  readonly classes: readonly ChangeClass[];
  /** By the tools' own names. */
  readonly changes: CatalogChanges;
  readonly error: ShownError | null;
}

/** What a refresh would do now; nothing was swapped and nothing is held because of it. */
export interface Preview {
  /** The first that applies to a toolset: `failed`, `would-reject`, `would-swap`, `would-hold`, `unchanged`. */
  readonly outcome: ToolsetPreview['outcome'];
  readonly toolsets: readonly ToolsetPreview[];
  /** What the model would see change, by the names that it sees. */
  readonly changes: CatalogChanges;
}

function reportTool(fact: ToolFact): ToolReport {
  const classes: readonly ChangeClass[] = fact.change === 'added' ? ['added'] : classesOfTool(fact.before, fact.after);
  return { ...fact, classes, diff: diffTool(fact.before, fact.after) };
}
