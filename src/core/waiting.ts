import type { Ask } from './round-state.js';
import type { Snapshot } from './snapshot.js';

/** A complete list that is not live yet, and what it waits for. */
export type Waiting =
  | {
      readonly reason: 'empty';
      readonly snapshot: Snapshot;
      readonly since: number;
      /** How many of the scheduled confirmations have been empty too. */
      readonly confirmed: number;
      readonly ask: Ask;
    }
  | { readonly reason: 'flapping'; readonly snapshot: Snapshot; readonly since: number; readonly ask: Ask }
  /** Somebody has to decide about it (CONTRACT.md 15). */
  | { readonly reason: 'review'; readonly snapshot: Snapshot; readonly since: number; readonly ask: Ask }
  | {
      readonly reason: 'rejected';
      readonly snapshot: Snapshot;
      readonly since: number;
      readonly attempts: number;
      /** When it is tried again; undefined when only a poll, a change or a request does. */
      readonly retryAt: number | undefined;
      readonly ask: Ask;
    };
