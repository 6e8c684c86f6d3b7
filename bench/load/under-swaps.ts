import { measureRuns, type RunBench, withContestant } from './measure.js';
import { OUR_RUNS } from './run-contestant.js';

const SWAP_EVERY_MS = 500;

/** What became of the runs that streamed while the tools changed. */
export interface UnderSwaps {
  readonly runs: number;
  readonly failed: number;
  /** Model requests that answered a tool call and showed other tools than the call itself did. */
  readonly mixed: number;
  readonly generations: number;
}

/** Runs of about 0.7 s, while the tools change every 0.5 s: nearly every run sees a swap. */
export async function underSwaps(bench: RunBench, { warmUpMs, swapsForMs }: { warmUpMs: number; swapsForMs: number }): Promise<UnderSwaps> {
  return withContestant(OUR_RUNS, { bench, warmUpMs }, async (running) => {
    const before = await bench.model.counts();
    const { result } = await measureRuns(running, { bench, runs: { turn: 'tool', concurrent: 16, tokenMs: 20 }, forMs: swapsForMs }, () =>
      bench.fleet.changeEvery('t0', { everyMs: SWAP_EVERY_MS, forMs: swapsForMs }),
    );
    const { mixedTools } = await bench.model.counts();
    const { complete, failed, generations } = result;
    return { runs: complete + failed, failed, mixed: mixedTools - before.mixedTools, generations };
  });
}
