import { readOptions } from './harness/options.js';
import { originOf } from './harness/origin.js';
import { readRecord, withResult, writeRecord } from './harness/record.js';
import { runScenarios } from './harness/run.js';
import { installedPeers } from './peers/all.js';
import { plainText } from './report/plain-text.js';
import { SCENARIOS } from './scenarios/all.js';

/** The command behind `npm run bench`, `bench:quick` and `bench:peers`. It ends with 1 when something went wrong (harness/run.ts). */
const { only, out, ...options } = readOptions(process.argv.slice(2));
const peers = options.peers ? installedPeers() : [];
const unknown = only.filter((goal) => !SCENARIOS.some((scenario) => scenario.goal === goal));
if (unknown.length > 0) throw new Error(`There is no scenario for ${unknown.join(', ')}.`);
const chosen = SCENARIOS.filter(({ goal, seconds }) => (only.length === 0 ? seconds[options.mode] > 0 : only.includes(goal)));

// Only an exit of its own ends the processes that a scenario has started.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const say = (line: string) => void process.stderr.write(`${line}\n`);
const origin = originOf({ only, ...options }, peers);
const wrong = await runScenarios(chosen, {
  ...options,
  peers,
  say,
  keep(result) {
    process.stdout.write(`${plainText(result)}\n\n`);
    if (out !== undefined) writeRecord(out, withResult(readRecord(out), { ...result, origin }));
  },
});
for (const line of wrong) say(line);
process.exit(wrong.length === 0 ? 0 : 1);
