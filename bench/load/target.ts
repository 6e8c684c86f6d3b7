import type { TurnKind } from '../model/answers.js';

/** Where runs are sent, and in which form. */
export interface RunTarget {
  readonly url: string;
  /** `ag-ui`: an AG-UI run, answered by AG-UI events. `langgraph`: a streamed run of the LangGraph platform's API. */
  readonly form: 'ag-ui' | 'langgraph';
}

export interface LoadOptions {
  readonly target: RunTarget;
  /** How many runs stream at the same time: when one ends, the next one begins. */
  readonly concurrent: number;
  /** Begins no more runs after this time. */
  readonly forMs: number;
  readonly turn: TurnKind;
}

/** What the load client saw of a series of runs. */
export interface LoadResult {
  /** Runs whose stream was whole: its first and last event, the call with its result where there is one, and every token of the answer. */
  readonly complete: number;
  /** Why the others are not, in plain words; the first twenty. */
  readonly failures: readonly string[];
  readonly failed: number;
  /** From the first request to the end of the last stream. */
  readonly overMs: number;
  /** For each run but those of the opening wave, from the request to the first event. */
  readonly firstMs: readonly number[];
  /** The same for the opening wave: as many requests as run at once, on new connections, all in one moment. */
  readonly openingMs: readonly number[];
  /** For each run, from the request to the last event. */
  readonly lastMs: readonly number[];
  /** Bytes of all streams. */
  readonly bytes: number;
  /** How many different generations the runs say they ran on. */
  readonly generations: number;
}
