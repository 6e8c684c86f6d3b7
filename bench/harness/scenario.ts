import type { Contestant } from './contestant.js';
import type { ScenarioResult } from './result.js';

export interface BenchContext {
  /** `quick`: at most some seconds, with slack, for CI. `full`: the figures of the report. */
  readonly mode: 'quick' | 'full';
  /** How often each contestant is measured, in turn (A B A B). */
  readonly rounds: number;
  /** For everything that is left to chance, such as which toolset changes next: the same seed gives the same choices. */
  readonly seed: number;
  /** The peers that are installed; empty but for `npm run bench:peers`. */
  readonly peers: readonly Contestant[];
  /** Says what is being done now: shown as progress. */
  say(text: string): void;
}

/** The peers that take part in a round, counted from 0: all of them in the first one only. They are many, and nothing is asked of them. */
export function peersIn(round: number, { peers }: Pick<BenchContext, 'peers'>): BenchContext['peers'] {
  return round === 0 ? peers : [];
}

/** One goal of the benchmark: measures everybody, interleaved, each in a fresh process, and says what the goal asks. */
export interface Scenario {
  readonly goal: string;
  readonly title: string;
  /** About how long it takes, in seconds, by mode; 0 leaves it out unless it is asked for by name. For the progress line's time left. */
  readonly seconds: { readonly quick: number; readonly full: number };
  run(context: BenchContext): Promise<ScenarioResult>;
}
