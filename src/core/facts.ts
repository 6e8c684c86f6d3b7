import type { CatalogChanges, Trigger } from './status.js';
import type { JsonObject } from './tool.js';

/** What happened to one tool in a swap, by the name that the model sees, with its whole definition before and after. */
export interface ToolFact {
  readonly name: string;
  readonly toolset: string;
  readonly change: 'added' | 'removed' | 'changed';
  /** Null for a tool that was added, and where the record would have become too large. */
  readonly before: JsonObject | null;
  /** Null for a tool that was removed, and where the record would have become too large. */
  readonly after: JsonObject | null;
}

/** One generation, as the history keeps it (CONTRACT.md 9, `GET /generations/{n}`). */
export interface GenerationRecord {
  readonly number: number;
  readonly fingerprint: string;
  /** The process on which it went live. */
  readonly instance: string;
  /** When it went live, ISO 8601. */
  readonly at: string;
  readonly trigger: Trigger;
  /** All toolsets of its catalog, sorted by name. */
  readonly toolsets: readonly { readonly name: string; readonly fingerprint: string; readonly tools: number }[];
  /** The toolsets that changed, by name. */
  readonly swapped: readonly string[];
  readonly changes: CatalogChanges;
  readonly tools: readonly ToolFact[];
  /** How many tools are in `changes` and have no definitions in `tools`, because the record would have become too large. */
  readonly omitted: number;
}

/** What somebody decided about a change that was held for review, for one fingerprint of one toolset (CONTRACT.md 15). */
export interface Decision {
  readonly toolset: string;
  readonly fingerprint: string;
  readonly verdict: 'approved' | 'rejected';
  /** ISO 8601. */
  readonly at: string;
  /** The definitions that it was about. */
  readonly definitions: JsonObject;
}

/** The last approved definitions of a toolset, from which it starts (CONTRACT.md 15.2). */
export interface Definitions {
  readonly toolset: string;
  readonly fingerprint: string;
  /** ISO 8601. */
  readonly at: string;
  readonly definitions: JsonObject;
}

/** What the service remembers besides threads (CONTRACT.md 15.2, 16). Every method may reject with a {@link StoreFailure}. */
export interface Facts {
  /** A number that no generation has had and that is higher than `above` and than all numbers before; gaps are allowed. */
  nextGeneration(above: number): Promise<number>;
  /** Keeps a record; the oldest ones go when there are too many or when they are too large together. */
  saveGeneration(record: GenerationRecord): Promise<void>;
  /** The newest records, newest first. */
  generations(limit: number): Promise<readonly GenerationRecord[]>;
  generation(number: number): Promise<GenerationRecord | undefined>;
  saveDecision(decision: Decision): Promise<void>;
  /** Decisions, newest first; of one toolset where it is given. */
  decisions(query: { readonly toolset?: string; readonly limit: number }): Promise<readonly Decision[]>;
  /** Replaces the definitions of that toolset. */
  saveDefinitions(definitions: Definitions): Promise<void>;
  definitions(toolset: string): Promise<Definitions | undefined>;
}

/** How many generations are remembered at most, and how large their records may be together, in bytes of JSON. */
export const HISTORY_LIMITS = { records: 300, bytes: 32 * 1024 * 1024 } as const;

/** How many decisions are remembered. */
export const DECISIONS_KEPT = 1_000;

/**
 * A store could not do what was asked. `store_unavailable`: it cannot be reached, or did not answer in time. `store_full`: its disk is
 * full. `store_failed`: anything else. The message is for operators and never holds a password.
 */
export class StoreFailure extends Error {
  readonly code: 'store_unavailable' | 'store_full' | 'store_failed';

  constructor(code: StoreFailure['code'], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'StoreFailure';
    this.code = code;
  }
}
