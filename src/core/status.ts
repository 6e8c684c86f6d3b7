import type { ChangeClass } from './diff.js';
import type { Replica } from './replicas.js';

/** What opened a round (CONTRACT.md 3.1). */
export type Trigger = 'start' | 'notification' | 'reconnect' | 'poll' | 'index' | 'manual' | 'review' | 'replica';

/** How a round ended; the first that applies, in this order (CONTRACT.md 3.5). */
export type Outcome = 'aborted' | 'rejected' | 'swapped' | 'held' | 'unchanged';

/** An error as it is shown. `message` and `url` are for administrators and for that toolset's own token only. */
export interface ShownError {
  readonly code: string;
  readonly toolset?: string;
  readonly message?: string;
  readonly url?: string;
}

/** Tools by the name that the model sees, sorted. */
export interface CatalogChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

/** One round, as `GET /refresh` shows it (CONTRACT.md 9.2). */
export interface RoundRecord {
  readonly round: number;
  readonly outcome: Outcome;
  readonly trigger: Trigger;
  /** When the round was concluded, ISO 8601. */
  readonly at: string;
  readonly durationMs: number;
  /** The generation that was live after the round; 0 while there is none. */
  readonly generation: number;
  readonly toolsets: {
    readonly listed: readonly string[];
    readonly swapped: readonly string[];
    readonly held: readonly string[];
    readonly late: readonly string[];
    readonly failing: readonly string[];
  };
  readonly changes: CatalogChanges;
  readonly error: ShownError | null;
}

/** One word for a toolset (CONTRACT.md 4.3). */
export type ToolsetState = 'connecting' | 'watching' | 'polling' | 'failing' | 'closed';

export interface ToolsetStatus {
  readonly name: string;
  readonly url: string;
  readonly state: ToolsetState;
  readonly protocol: string | null;
  readonly server: { readonly name: string; readonly version: string } | null;
  /** How many tools its live snapshot has. */
  readonly tools: number;
  /** How many hidden characters were removed from what the model sees of its live snapshot (CONTRACT.md 14.1). */
  readonly hiddenCharacters: number;
  readonly fingerprint: string | null;
  readonly listedAt: string | null;
  readonly nextListAt: string | null;
  readonly notifiedAt: string | null;
  readonly missedSignals: number;
  readonly flapping: boolean;
  /**
   * Why a complete list of this toolset is not live yet: an empty list that is being confirmed, one that waits for a swap token, one from
   * which no agent could be built, or one that waits for somebody's decision. `classes` says what it would change.
   */
  readonly held: {
    readonly reason: 'empty' | 'flapping' | 'rejected' | 'review';
    readonly fingerprint: string;
    readonly since: string;
    readonly classes: readonly ChangeClass[];
  } | null;
  /** Failed tries in a row. */
  readonly failures: number;
  readonly error: ShownError | null;
  readonly retryAt: string | null;
}

/** The answer of `GET /refresh` (CONTRACT.md 9.2), with everything that only administrators may see still in it. */
export interface RefreshStatus {
  readonly instance: string;
  /** 0 before the first generation. */
  readonly generation: number;
  readonly fingerprint: string | null;
  readonly builtAt: string | null;
  readonly everySeconds: number;
  readonly nextPollAt: string | null;
  readonly rounds: Readonly<Record<Outcome, number>>;
  readonly last: RoundRecord | null;
  readonly draining: readonly { readonly generation: number; readonly runs: number; readonly since: string }[];
  /** All replicas that share the store, this one included; empty where there can be no others (CONTRACT.md 16.3). */
  readonly replicas: readonly Replica[];
  /** Since when replicas have been serving different fingerprints, where that is longer than a minute. */
  readonly replicasDifferSince: string | null;
  readonly toolsets: readonly ToolsetStatus[];
  /** The index's last failed read, or null; the last good index stays in use meanwhile. */
  readonly index: { readonly error: ShownError | null; readonly readAt: string | null };
}

export interface Readiness {
  readonly ready: boolean;
  /** Names of the toolsets that are failing now, sorted. */
  readonly failing: readonly string[];
}
