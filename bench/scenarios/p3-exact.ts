import { FLOOR } from '../harness/contestant-process.js';
import { Figures } from '../harness/figures.js';
import type { Row } from '../harness/result.js';
import { type BenchContext, peersIn, type Scenario } from '../harness/scenario.js';
import { OURS } from '../harness/service.js';
import { type Asked, countOthers, countOurs, type ExactSizes, type Left } from './p3-counters.js';

const ERAS = ['legacy', 'modern'] as const;
const YEAR = { legacy: '2025 era', modern: '2026 era' } as const;

const MEASURES: Readonly<Record<keyof Asked | keyof Left, { readonly measure: string; readonly exactly: number }>> = {
  listsPerChange: { measure: 'lists of the changed toolset per change', exactly: 1 },
  listsOfOthers: { measure: 'lists of toolsets that did not change', exactly: 0 },
  listsPerRun: { measure: 'lists per run', exactly: 0 },
  moreAfterSwaps: { measure: 'sessions and streams more than before the swaps', exactly: 0 },
  afterRestart: { measure: 'sessions and streams too many after a toolset restarted', exactly: 0 },
  ofRemoved: { measure: 'sessions and streams kept to a toolset that left the index', exactly: 0 },
  afterStop: { measure: 'sessions, streams and connections left after a stop', exactly: 0 },
};

/** What the floor and the peers are asked too. */
const OF_EVERYBODY: readonly (keyof Asked)[] = ['listsPerChange', 'listsOfOthers', 'listsPerRun', 'moreAfterSwaps'];

/** P3: no request that nothing asked for, and nothing left behind. */
export const exact: Scenario = {
  goal: 'P3',
  title: 'Exact: one list per change, and nothing left behind',
  seconds: { quick: 10, full: 60 },
  async run(context) {
    const sizes = context.mode === 'quick' ? { toolsets: 10, changes: 6, runs: 5 } : { toolsets: 40, changes: 20, runs: 20 };
    // Counts do not mind what else the machine does.
    const rows = await Promise.all(ERAS.map((era) => countEra(era, { context, sizes })));
    return {
      goal: 'P3',
      title: this.title,
      asks: 'One `tools/list` per change, none to other toolsets, none per run, and nothing left behind by a swap, a restart, a toolset that goes, or a stop.',
      rows: rows.flat(),
      notes: notesOf(sizes),
    };
  },
};

async function countEra(era: (typeof ERAS)[number], { context, sizes }: { context: BenchContext; sizes: ExactSizes }): Promise<Row[]> {
  const { mode, rounds, peers, say } = context;
  const figures = new Map(Object.keys(MEASURES).map((name) => [name, new Figures()]));
  const add = (contestant: string, counted: object) => {
    for (const [name, count] of Object.entries(counted)) figures.get(name)?.add(contestant, count);
  };
  for (let round = 1; round <= rounds; round++) {
    say(`${YEAR[era]}, round ${round} of ${rounds}: ${OURS.name}`);
    add(OURS.name, await countOurs(era, sizes));
    // A quick run is a check of ours.
    for (const contestant of mode === 'quick' ? [] : [FLOOR, ...peersIn(round - 1, { peers })]) {
      say(`${YEAR[era]}, round ${round} of ${rounds}: ${contestant.name}`);
      const why = contestant.cannot.P3 ?? contestant.cannot[era];
      if (why === undefined) add(contestant.name, await countOthers(contestant, { era, sizes }));
      else for (const name of OF_EVERYBODY) figures.get(name)?.cannot(contestant.name, why);
    }
  }
  return Object.entries(MEASURES).map(([name, { measure, exactly }]) => {
    const figure = figures.get(name) ?? new Figures();
    return {
      measure: `${measure}, ${YEAR[era]}`,
      unit: '',
      limit: { atMost: exactly, atLeast: exactly },
      ours: figure.cell(OURS.name),
      others: figure.others(OURS.name),
    };
  });
}

function notesOf({ toolsets, changes, runs }: ExactSizes): string[] {
  return [
    `${toolsets} toolsets of one protocol era. ${changes} changes are made to the first half of them, one after the other, each announced. The poll is so seldom that it does not disturb the count. The toolsets count the requests.`,
    `Each of the ${runs} runs of ours calls a tool. The others are asked what a run would be shown, which makes them list where they list for each run.`,
    'Ours is stopped by SIGTERM, as a deployment does it. The floor and the peers are killed, so nothing is said about what a stop of theirs leaves.',
  ];
}
