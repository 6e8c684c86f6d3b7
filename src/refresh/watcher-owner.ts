import type { CodedError } from '../core/errors.js';
import type { Clock, Logger } from '../core/ports.js';
import type { ConcludedRound, RoundEffect } from '../core/round-state.js';
import type { EndedList, HeldChange, RefresherOptions, ToolsetChange, ViewChange } from './options.js';

type BuildEffect = Extract<RoundEffect, { type: 'build' }>;

/** What a watcher tells the refresher that it works for. Called synchronously, in the order of the decisions. */
export interface WatcherOwner {
  /** What has to be known of a toolset before it is listed; where it cannot be, its list fails. */
  prepare(name: string): Promise<void>;
  build(effect: BuildEffect): void;
  concluded(record: ConcludedRound): void;
  stateChanged(change: ToolsetChange): void;
  held(change: HeldChange): void;
  indexChanged(read: { readonly error: CodedError | null }): void;
  listEnded(list: EndedList): void;
  viewChanged(change: ViewChange): void;
  signalMissed(missed: { readonly toolset: string; readonly missedSignals: number }): void;
  /** Something was decided; the answers to questions about readiness may have changed. */
  stepped(): void;
}

export interface WatcherOptions {
  readonly settings: Omit<RefresherOptions<unknown>, 'build'>;
  readonly pollMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly owner: WatcherOwner;
}
