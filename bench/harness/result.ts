import type { Spread } from './statistics.js';

/** What stands in one cell: a figure of several rounds, a text where the contestant cannot do the thing, or nothing measured. */
export type Cell = Spread | { readonly cannot: string };

/** One measured thing, with everybody's figure. */
export interface Row {
  /** What was measured, in plain words: "change to served, p50, 300 toolsets". */
  readonly measure: string;
  /** `ms`, `kB`, `lists`, `× floor`, `runs/s` … */
  readonly unit: string;
  /** What the goal asks of us, in this row's unit; absent where the row is for information. */
  readonly limit?: { readonly atMost?: number; readonly atLeast?: number };
  /** Our own figure. */
  readonly ours: Cell;
  /** The floor's and the peers' figures, by contestant. */
  readonly others: Readonly<Record<string, Cell>>;
  /** Our figure divided by another's, round by round, where the goal is a ratio. */
  readonly ratio?: { readonly to: string; readonly spread: Spread; readonly atMost?: number; readonly atLeast?: number };
  /** Below this value the spread of the rounds does not matter (a count, a time near the resolution of the clock). */
  readonly noiseFloor?: number;
}

/** What one scenario found out. */
export interface ScenarioResult {
  /** `P1` … `P11`. */
  readonly goal: string;
  readonly title: string;
  /** The goal in one sentence. */
  readonly asks: string;
  readonly rows: readonly Row[];
  /** What a reader has to know to read the figures: how it was measured, what was left out and why. */
  readonly notes: readonly string[];
  /** Versions of contestants that only this scenario measures, by name. */
  readonly versions?: Readonly<Record<string, string>>;
}

export type Verdict = 'met' | 'not met' | 'unstable' | 'for information';
