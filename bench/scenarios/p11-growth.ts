import type { Row, ScenarioResult } from '../harness/result.js';
import type { BenchContext, Scenario } from '../harness/scenario.js';
import { spreadOf } from '../harness/statistics.js';
import {
  type ChangeCost,
  costOfChanges,
  costOfPoll,
  costWithThreadsInMemory,
  costWithThreadsInSqlite,
  type InUse,
  inUse,
  withService,
} from './p11-costs.js';

const SIZES = {
  quick: { toolsets: [10, 100], changes: 40, polls: 3 },
  full: { toolsets: [10, 100, 300, 1_000], changes: 80, polls: 5 },
} as const;
/** Up to so much dearer counts as flat; a quick run allows for noise. */
const FLAT = { quick: 3, full: 1.5 } as const;
const GENERATIONS = [1, 100, 1_000] as const;
/** The service remembers 300 generations; long after that, what still grows is a leak. */
const REMEMBERED = 1_600;
const CHANGES_FOR_HEAP = 1_600;
const GENERATIONS_TOOLSETS = 200;
const THREADS = { memory: [0, 1_000], sqlite: [0, 1_000, 10_000] } as const;
const THREADS_TOOLSETS = 30;
/** Bytes of heap per change that count as none: the compiler goes on to compile for a while. */
const HEAP_PER_CHANGE = 300;

/** P11: what grows with the number of toolsets, threads and generations, and with time. */
export const growth: Scenario = {
  goal: 'P11',
  title: 'What grows, and with what',
  seconds: { quick: 0, full: 95 },
  async run(context) {
    const rows = await costsByToolsets(context);
    if (context.mode === 'full') {
      rows.push(...(await costsByGenerations(context)));
      rows.push(...(await costsByThreads(context)));
    }
    return resultOf(rows, context);
  },
};

async function costsByToolsets({ mode, say }: BenchContext): Promise<Row[]> {
  const { toolsets, changes, polls } = SIZES[mode];
  const costs = new Map<number, ChangeCost & { readonly poll: number }>();
  for (const count of toolsets) {
    say(`${count} toolsets`);
    const cost = await withService(count, async ({ service, fleet }) => {
      await costOfChanges(service, { fleet, changes: Math.max(20, changes / 2) });
      const change = await costOfChanges(service, { fleet, changes, from: 40 });
      return { ...change, poll: await costOfPoll(service, { fleet, cycles: Math.ceil((polls * 100) / count) }) };
    });
    costs.set(count, cost);
  }
  const of = (what: 'cpu' | 'served' | 'poll') => [...costs].map(([count, cost]) => [`${count} toolsets`, cost[what]] as const);
  return [
    ...rowsOf('CPU time per change', of('cpu'), FLAT[mode]),
    ...rowsOf('change to served, p50', of('served'), FLAT[mode]),
    ...rowsOf('CPU time of a poll per toolset', of('poll'), FLAT[mode]),
  ];
}

async function costsByGenerations({ say, mode }: BenchContext): Promise<Row[]> {
  const costs: [string, ChangeCost][] = [];
  const used: InUse[] = [];
  let made = 0;
  await withService(GENERATIONS_TOOLSETS, async ({ service, fleet }) => {
    for (const generations of GENERATIONS) {
      say(`after ${generations} generations`);
      if (generations > made) await costOfChanges(service, { fleet, changes: generations - made, from: made });
      // Before the first figure too, or it would be that of code that is not compiled yet.
      if (generations === 1) await costOfChanges(service, { fleet, changes: 40, from: 1 });
      made = Math.max(generations, 41);
      costs.push([`after ${generations} generations`, await costOfChanges(service, { fleet, changes: 40, from: made })]);
      made += 40;
    }
    for (const changes of [REMEMBERED - made, CHANGES_FOR_HEAP]) {
      say(`${changes} changes more`);
      await costOfChanges(service, { fleet, changes, from: made });
      made += changes;
      used.push(await inUse(service, fleet));
    }
  });
  const [early, late] = used;
  const more = (what: keyof InUse) => (late?.[what] ?? Number.NaN) - (early?.[what] ?? Number.NaN);
  return [
    ...rowsOf(
      'CPU time per change',
      costs.map(([name, { cpu }]) => [name, cpu]),
      FLAT[mode],
    ),
    single(`heap per change, over ${CHANGES_FOR_HEAP} changes`, 'bytes', more('heap') / CHANGES_FOR_HEAP, HEAP_PER_CHANGE),
    single(`timers more after ${CHANGES_FOR_HEAP} changes`, '', more('timers'), 2),
    single(`connections to toolsets more after ${CHANGES_FOR_HEAP} changes`, '', more('sockets'), 2),
  ];
}

async function costsByThreads({ say, mode }: BenchContext): Promise<Row[]> {
  const sizes = { toolsets: THREADS_TOOLSETS, changes: 80 };
  const rows: Row[] = [];
  for (const store of ['memory', 'sqlite'] as const) {
    const measure = store === 'memory' ? costWithThreadsInMemory : costWithThreadsInSqlite;
    const costs: [string, number][] = [];
    for (const threads of THREADS[store]) {
      say(`${threads} threads, ${store}`);
      costs.push([`${threads} threads (${store})`, (await measure(threads, sizes)).cpu]);
    }
    rows.push(...rowsOf('CPU time per change', costs, FLAT[mode]));
  }
  return rows;
}

/** A row for each figure, and one that says how much dearer the last is than the first. */
function rowsOf(what: string, figures: readonly (readonly [string, number])[], atMost: number): Row[] {
  const [first, last] = [figures.at(0), figures.at(-1)];
  const rows = figures.map(([name, figure]) => single(`${what}, ${name}`, 'ms', figure));
  if (first === undefined || last === undefined) return rows;
  return [...rows, single(`${what}, ${last[0]} against ${first[0]}`, '×', last[1] / first[1], atMost)];
}

function single(measure: string, unit: string, figure: number, atMost?: number): Row {
  return { measure, unit, ours: spreadOf([figure]), others: {}, ...(atMost !== undefined && { limit: { atMost } }) };
}

function resultOf(rows: readonly Row[], { mode }: BenchContext): ScenarioResult {
  const { changes } = SIZES[mode];
  return {
    goal: 'P11',
    title: growth.title,
    asks: 'What a change costs does not depend on how many toolsets, threads and generations there are; a poll costs the same for each toolset; nothing grows with time.',
    rows,
    notes: [
      `${changes} changes, one after another, each of another toolset, after others that are not counted; the window is 0 and the poll is off. Up to ${FLAT[mode]} times counts as the same. CPU time is that of the whole process. Times to served are exact to about 1 ms.`,
      'A poll is a refresh of all toolsets by request, none of which has changed; its time is divided by their number.',
      ...(mode === 'full'
        ? [
            `Generations: ${GENERATIONS_TOOLSETS} toolsets, one process; the heap is compared from the ${REMEMBERED}th on, long after as many generations are remembered as ever will be. Threads: ${THREADS_TOOLSETS} toolsets, a thread of one turn each; the memory store keeps 1 000 at most, and the SQLite file is filled by copies of one thread.`,
          ]
        : []),
      'One round: each figure is the mean of many changes, and a thousand toolsets take long to start.',
    ],
  };
}
