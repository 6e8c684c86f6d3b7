import { setTimeout as sleep } from 'node:timers/promises';
import { Progress } from './progress.js';
import type { ScenarioResult } from './result.js';
import type { BenchContext, Scenario } from './scenario.js';
import { fails, judge } from './verdict.js';

export interface RunOptions extends Omit<BenchContext, 'say'> {
  /** Takes a line of progress. */
  readonly say: (line: string) => void;
  /** Takes each result as soon as it is there, so that an interrupted run has its results so far. */
  readonly keep: (result: ScenarioResult) => void;
  /** Gives up a scenario that takes so many times as long as it says, which is without peers. */
  readonly patience?: number;
}

/** A scenario may take this long whatever it says, in seconds. */
const AT_LEAST_SECONDS = 60;

/**
 * Runs scenarios one after the other and returns what went wrong, a line each. A scenario that throws or does not end is one of these, and the
 * others go on. In a quick run a broken limit is another; a full run reports that, and judges nothing.
 */
export async function runScenarios(scenarios: readonly Scenario[], options: RunOptions): Promise<string[]> {
  const { say, keep, ...context } = options;
  const { patience = context.peers.length === 0 ? 5 : 15 } = options;
  const steps = scenarios.map(({ goal, seconds }) => ({ goal, seconds: seconds[context.mode] }));
  const progress = new Progress(steps, say);
  const wrong: string[] = [];
  for (const scenario of scenarios) {
    progress.begin(scenario.title);
    try {
      const limitSeconds = Math.max(AT_LEAST_SECONDS, scenario.seconds[context.mode]) * patience;
      const result = await within(limitSeconds, scenario.run({ ...context, say: progress.say }));
      progress.end('done');
      keep(result);
      if (context.mode === 'quick') wrong.push(...brokenLimits(result));
    } catch (error) {
      // The other scenarios still have something to say; what is returned tells of this one.
      progress.end('failed');
      wrong.push(`${scenario.goal}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
  }
  return wrong;
}

async function within<T>(seconds: number, result: Promise<T>): Promise<T> {
  const over = new AbortController();
  const tooLong = async (): Promise<never> => {
    await sleep(seconds * 1_000, undefined, { signal: over.signal });
    throw new Error(`It had not ended after ${Math.round(seconds)} s.`);
  };
  try {
    return await Promise.race([result, tooLong()]);
  } finally {
    over.abort();
  }
}

function brokenLimits({ goal, rows }: ScenarioResult): string[] {
  return rows.filter(fails).map((row) => `${goal}: "${row.measure}" is ${judge(row).verdict}.`);
}
