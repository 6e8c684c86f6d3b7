import { readOptions } from './harness/options.js';
import { originOf } from './harness/origin.js';
import { Progress } from './harness/progress.js';
import { readRecord, withResult, writeRecord } from './harness/record.js';
import type { ScenarioResult } from './harness/result.js';
import { fails, judge } from './harness/verdict.js';
import { installedPeers } from './peers/all.js';
import { plainText } from './report/plain-text.js';
import { SCENARIOS } from './scenarios/all.js';

/**
 * The command behind `npm run bench`, `bench:quick` and `bench:peers`. A scenario that throws is reported and the others go on. It ends with 1
 * when one threw, and in a quick run also when a limit is broken: a full run reports that, and judges nothing.
 */
// The fakes of tests/support clean up after each jest test; here each scenario stops what it has started.
Object.assign(globalThis, { beforeEach: () => undefined, afterEach: () => undefined, afterAll: () => undefined });

const options = readOptions(process.argv.slice(2));
const peers = options.peers ? installedPeers() : [];
const unknown = options.only.filter((goal) => !SCENARIOS.some((scenario) => scenario.goal === goal));
if (unknown.length > 0) throw new Error(`There is no scenario for ${unknown.join(', ')}.`);
const chosen = SCENARIOS.filter(
  ({ goal, seconds }) => seconds[options.mode] > 0 && (options.only.length === 0 || options.only.includes(goal)),
);

const say = (line: string) => void process.stderr.write(`${line}\n`);
const progress = new Progress(
  chosen.map(({ goal, seconds }) => ({ goal, seconds: seconds[options.mode] })),
  say,
);
const origin = originOf(options, peers);
const broken: string[] = [];

for (const scenario of chosen) {
  progress.begin(scenario.title);
  try {
    const { mode, rounds, seed } = options;
    const result = await scenario.run({ mode, rounds, seed, peers, say: progress.say });
    progress.end('done');
    report(result);
  } catch (error) {
    // The other scenarios still have something to say; the exit code tells of this one.
    progress.end('failed');
    broken.push(`${scenario.goal}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  }
}

for (const failure of broken) say(failure);
process.exit(broken.length === 0 ? 0 : 1);

function report(result: ScenarioResult): void {
  process.stdout.write(`${plainText(result)}\n\n`);
  // Kept after each scenario, so that an interrupted run has its results so far.
  if (options.out !== undefined) writeRecord(options.out, withResult(readRecord(options.out), { ...result, origin }));
  if (options.mode === 'full') return;
  for (const row of result.rows.filter(fails)) broken.push(`${result.goal}: "${row.measure}" is ${judge(row).verdict}.`);
}
