import type { Fleet } from '../harness/fleet.js';
import { quantile } from '../harness/statistics.js';
import type { TurnKind } from '../model/answers.js';
import type { Model } from '../model/model.js';
import type { Load } from './load.js';
import type { RunContestant, RunningRuns } from './run-contestant.js';
import type { LoadResult } from './target.js';

/** Runs of one kind under one load. */
export interface RunCase {
  readonly turn: TurnKind;
  readonly concurrent: number;
  /** The model's pause before each token, in milliseconds. */
  readonly tokenMs: number;
}

export interface RunFigures {
  readonly perSecond: number;
  /** CPU time of the process for each run, in milliseconds. Figures of runs are NaN or infinite where no run was whole. */
  readonly cpuMs: number;
  readonly firstP50: number;
  readonly firstP99: number;
  /** The slowest first event of the opening wave. */
  readonly openingMax: number;
  readonly lastP50: number;
  /** Runs whose stream was not whole, and why the first of them is not. */
  readonly failed: number;
  readonly failure: string | undefined;
}

/** What all measurements of runs share: the toolsets, the model and the load client, each in a process of its own. */
export interface RunBench {
  readonly fleet: Fleet;
  readonly model: Model;
  readonly load: Load;
}

/** Starts a contestant in a fresh process, warms it up until its code is compiled, and hands it to `use`. */
export async function withContestant<T>(
  contestant: RunContestant,
  { bench, warmUpMs }: { bench: RunBench; warmUpMs: number },
  use: (running: RunningRuns) => Promise<T>,
): Promise<T> {
  const running = await contestant.start(bench.fleet, { modelUrl: bench.model.baseUrl });
  try {
    await bench.model.setTokenMs(0);
    for (const turn of ['tool', 'plain'] as const)
      await bench.load.run({ target: running.target, concurrent: 8, forMs: warmUpMs / 2, turn });
    return await use(running);
  } finally {
    await running.stop();
  }
}

/** Measures one case; meanwhile `during` happens. */
export async function measureRuns(
  running: RunningRuns,
  { bench, runs, forMs }: { bench: RunBench; runs: RunCase; forMs: number },
  during: () => Promise<unknown> = async () => undefined,
): Promise<RunFigures & { readonly result: LoadResult }> {
  const { turn, concurrent, tokenMs } = runs;
  await bench.model.setTokenMs(tokenMs);
  const cpuBefore = await running.process.cpuMs();
  const [result] = await Promise.all([bench.load.run({ target: running.target, concurrent, forMs, turn }), during()]);
  const cpu = (await running.process.cpuMs()) - cpuBefore;
  return {
    perSecond: (result.complete / result.overMs) * 1_000,
    cpuMs: cpu / result.complete,
    firstP50: quantile(result.firstMs, 0.5),
    firstP99: quantile(result.firstMs, 0.99),
    openingMax: quantile(result.openingMs, 1),
    lastP50: quantile(result.lastMs, 0.5),
    failed: result.failed,
    failure: result.failures[0],
    result,
  };
}
