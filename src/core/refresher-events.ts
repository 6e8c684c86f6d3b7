import type { ChangeClass } from './diff.js';
import type { CodedError } from './errors.js';
import type { Generation } from './generation.js';
import type { RoundRecord, ToolsetState } from './status.js';
import type { Waiting } from './waiting.js';

/** A swap: the generation that is live now, and the round that brought it. */
export interface Swap<Agent> {
  readonly generation: Generation<Agent>;
  readonly previous: Generation<Agent> | undefined;
  readonly round: RoundRecord;
}

export interface ToolsetChange {
  readonly toolset: string;
  readonly from: ToolsetState | null;
  readonly to: ToolsetState;
  readonly error: CodedError | null;
}

/** One list of a toolset that ended, from the moment when it got its place; connecting is part of it. */
export interface EndedList {
  readonly toolset: string;
  readonly durationMs: number;
  /** Null when the list is complete. */
  readonly error: CodedError | null;
}

/** A view has another content now. It changes no generation (CONTRACT.md 8.3). */
export interface ViewChange {
  readonly toolset: string;
  readonly uri: string;
  /** The hashes of both contents. */
  readonly from: string;
  readonly to: string;
}

/** A complete list began to wait, or waits for another reason now. */
export interface HeldChange {
  readonly toolset: string;
  readonly fingerprint: string;
  readonly reason: Waiting['reason'];
  /** What it would change. */
  readonly classes: readonly ChangeClass[];
}

/** Somebody decided about a change of a toolset under review, here or on another replica. */
export interface DecisionMade {
  readonly toolset: string;
  readonly fingerprint: string;
  readonly decision: 'approved' | 'rejected';
}

/** The events of a `ToolsetRefresher`. A listener that throws is logged and stops nothing. */
export interface RefresherEvents<Agent> {
  /** Another generation is live. */
  swapped: (swap: Swap<Agent>) => void;
  /** A round ended without a swap. */
  held: (round: RoundRecord) => void;
  unchanged: (round: RoundRecord) => void;
  aborted: (round: RoundRecord) => void;
  rejected: (round: RoundRecord) => void;
  /** A toolset's state changed. */
  toolset: (change: ToolsetChange) => void;
  /** A complete list of a toolset is not live yet, and why. */
  waiting: (held: HeldChange) => void;
  /** A decision about a change that was held for review. */
  decided: (decision: DecisionMade) => void;
  /** The index could not be read any more, or could be read again (`error` is null then). */
  index: (read: { readonly error: CodedError | null }) => void;
  /** A list ended, complete or not. */
  listed: (list: EndedList) => void;
  /** A poll found a change that the toolset should have announced. */
  missed: (missed: { readonly toolset: string; readonly missedSignals: number }) => void;
  /** A view that was read before has another content. */
  view: (change: ViewChange) => void;
  /** A generation's last run has ended; what only it needed is closed. */
  released: (generation: Generation<Agent>) => void;
}
