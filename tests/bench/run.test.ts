import type { ScenarioResult } from '../../bench/harness/result.js';
import { runScenarios } from '../../bench/harness/run.js';
import type { BenchContext, Scenario } from '../../bench/harness/scenario.js';
import { SCENARIOS } from '../../bench/scenarios/all.js';
import { figure, rowOf } from './sample-record.js';

function scenario(goal: string, run: (context: BenchContext) => Promise<Partial<ScenarioResult>>): Scenario {
  return {
    goal,
    title: `title of ${goal}`,
    seconds: { quick: 1, full: 2 },
    run: async (context) => ({ goal, title: `title of ${goal}`, asks: 'something', rows: [], notes: [], ...(await run(context)) }),
  };
}

const broken = scenario('P1', () => Promise.reject(new Error('the fleet is gone')));
const beyond = scenario('P2', async () => ({ rows: [rowOf({ measure: 'lists', ours: figure(2), limit: { atMost: 1 } })] }));
const within = scenario('P3', async () => ({ rows: [rowOf({ ours: figure(1), limit: { atMost: 1 } })] }));

async function run(scenarios: readonly Scenario[], mode: 'quick' | 'full', patience?: number) {
  const kept: string[] = [];
  const lines: string[] = [];
  const wrong = await runScenarios(scenarios, {
    ...{ mode, rounds: 1, seed: 7, peers: [] },
    ...(patience !== undefined && { patience }),
    say: (line) => lines.push(line),
    keep: ({ goal }) => kept.push(goal),
  });
  return { kept, lines, wrong };
}

test('a scenario that throws is told of, and the others go on', async () => {
  const { kept, wrong, lines } = await run([broken, within], 'full');
  expect(kept).toEqual(['P3']);
  expect(wrong).toEqual([expect.stringContaining('P1: Error: the fleet is gone')]);
  expect(lines).toEqual(expect.arrayContaining([expect.stringMatching(/^\[1\/2 P1\] failed/), expect.stringMatching(/^\[2\/2 P3\] done/)]));
});

test('a scenario that does not end is given up', async () => {
  const endless = scenario('P4', () => new Promise(() => undefined));
  const { kept, wrong } = await run([endless, within], 'quick', 0.002);
  expect(kept).toEqual(['P3']);
  expect(wrong).toEqual([expect.stringContaining('P4: Error: It had not ended after 0 s.')]);
});

test('a broken limit fails a quick run, and is only reported by a full one', async () => {
  expect((await run([beyond, within], 'quick')).wrong).toEqual(['P2: "lists" is not met.']);
  const full = await run([beyond, within], 'full');
  expect(full.wrong).toEqual([]);
  expect(full.kept).toEqual(['P2', 'P3']);
});

test('a scenario is told how it is to measure', async () => {
  let told: unknown;
  const asked = scenario('P5', async ({ say: _say, ...context }) => {
    told = context;
    return {};
  });
  await run([asked], 'quick');
  expect(told).toEqual({ mode: 'quick', rounds: 1, seed: 7, peers: [] });
});

test('all quick scenarios together take at most 90 s', () => {
  expect(SCENARIOS.reduce((sum, { seconds }) => sum + seconds.quick, 0)).toBeLessThanOrEqual(90);
});
