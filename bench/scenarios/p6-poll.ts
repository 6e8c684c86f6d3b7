import { setTimeout as sleep } from 'node:timers/promises';
import type { Contestant } from '../harness/contestant.js';
import { FLOOR } from '../harness/contestant-process.js';
import { Figures } from '../harness/figures.js';
import { type Fleet, startFleet } from '../harness/fleet.js';
import type { NodeProcess } from '../harness/node-process.js';
import type { ScenarioResult } from '../harness/result.js';
import type { BenchContext, Scenario } from '../harness/scenario.js';
import { OURS, startService } from '../harness/service.js';
import { ratios, spreadOf } from '../harness/statistics.js';
import { HEAP_SAMPLES, heapPerList } from './p6-heap.js';

interface Sizes {
  readonly toolsets: number;
  readonly intervalSeconds: number;
  /** Intervals that are measured. */
  readonly intervals: number;
  readonly idleSeconds: number;
  /** How often the heap's fleet is listed before the heap is first measured, and after. */
  readonly warmUpCycles: number;
  readonly cycles: number;
  /** The limits of a quick run leave room for slow and busy machines. */
  readonly limits: {
    /** How far the lists per toolset and interval may be from one. */
    readonly off: number;
    readonly ratio: number;
    readonly slope: number;
    readonly busiest: number;
    readonly loopMs: number | undefined;
  };
}

const SIZES: Readonly<Record<BenchContext['mode'], Sizes>> = {
  quick: {
    ...{ toolsets: 40, intervalSeconds: 3, intervals: 1, idleSeconds: 1, warmUpCycles: 40, cycles: 60 },
    limits: { off: 0.4, ratio: 6, slope: 2_000, busiest: 5, loopMs: undefined },
  },
  full: {
    ...{ toolsets: 300, intervalSeconds: 12, intervals: 1, idleSeconds: 6, warmUpCycles: 400, cycles: 1_000 },
    limits: { off: 0.1, ratio: 1.3, slope: 100, busiest: 2.5, loopMs: 10 },
  },
};

const HEAP_TOOLSETS = 10;

/** P6: what it costs to find out that nothing has changed. */
export const polling: Scenario = {
  goal: 'P6',
  title: 'A poll of unchanged toolsets',
  seconds: { quick: 16, full: 180 },
  async run(context) {
    const sizes = SIZES[context.mode];
    const figures = new Map(MEASURES.map((name) => [name, new Figures()]));
    const add = (contestant: string, measured: Partial<Record<Measure, number>>) => {
      for (const [name, figure] of Object.entries(measured)) figures.get(name as Measure)?.add(contestant, figure);
    };
    for (let round = 1; round <= context.rounds; round++) {
      const say = (what: string) => context.say(`round ${round} of ${context.rounds}: ${what}`);
      await withFleet(sizes.toolsets, async (fleet) => {
        say(OURS.name);
        add(OURS.name, await pollOfOurs(fleet, sizes));
        say(FLOOR.name);
        add(FLOOR.name, await pollOfFloor(fleet, sizes));
        for (const peer of context.peers) {
          say(peer.name);
          const measured = await pollOfPeer(peer, { fleet, sizes });
          if (typeof measured === 'string') for (const figure of figures.values()) figure.cannot(peer.name, measured);
          else add(peer.name, measured);
        }
      });
      // One long look at the heap says more than several short ones.
      if (round > 1) continue;
      say('heap');
      await withFleet(HEAP_TOOLSETS, async (fleet) => add(OURS.name, { slope: await heapPerList(fleet, sizes) }));
    }
    return resultOf(figures, { sizes, context });
  },
};

const MEASURES = ['lists', 'busiest', 'cpu', 'builds', 'loop', 'slope'] as const;
type Measure = (typeof MEASURES)[number];

async function withFleet(toolsets: number, work: (fleet: Fleet) => Promise<void>): Promise<void> {
  const fleet = await startFleet({ toolsets });
  try {
    await work(fleet);
  } finally {
    await fleet.stop();
  }
}

interface Interval {
  /** `tools/list` requests per toolset and interval. */
  readonly lists: number;
  /** The lists of the second with most of them, by those of an average second. */
  readonly busiest: number;
  readonly loop: number;
  readonly usedMs: number;
}

/** What happens in the measured intervals. */
async function watchIntervals(process: NodeProcess, { fleet, sizes }: { fleet: Fleet; sizes: Sizes }): Promise<Interval> {
  const seconds = sizes.intervalSeconds * sizes.intervals;
  const lists = async () => (await fleet.totals()).requests['tools/list'] ?? 0;
  await fleet.resetCounts();
  await process.watchLoop();
  const startedAt = performance.now();
  const cpuBefore = await process.cpuMs();
  const perSecond: number[] = [];
  for (let second = 1, before = 0; second <= seconds; second++) {
    await sleep(startedAt + second * 1_000 - performance.now());
    const now = await lists();
    perSecond.push(now - before);
    before = now;
  }
  const usedMs = (await process.cpuMs()) - cpuBefore;
  const all = perSecond.reduce((sum, count) => sum + count, 0);
  return {
    lists: all / sizes.toolsets / sizes.intervals,
    busiest: Math.max(...perSecond) / (all / seconds),
    loop: (await process.loopDelay()).p99,
    usedMs,
  };
}

/** CPU time per second of a process that has nothing to do but to stay connected. */
async function idleCpu(process: NodeProcess, seconds: number): Promise<number> {
  const before = await process.cpuMs();
  await sleep(seconds * 1_000);
  return ((await process.cpuMs()) - before) / seconds;
}

async function pollOfOurs(fleet: Fleet, sizes: Sizes): Promise<Partial<Record<Measure, number>>> {
  const idle = await startService(fleet, { pollSeconds: 0 });
  let idleMs: number;
  try {
    await sleep(1_500);
    idleMs = await idleCpu(idle.process, sizes.idleSeconds);
  } finally {
    await idle.process.stop('SIGKILL');
  }
  const service = await startService(fleet, { pollSeconds: sizes.intervalSeconds });
  try {
    // What the start has left to do is no part of a poll.
    await sleep(2_000);
    const builds = service.generations();
    const { lists, busiest, loop, usedMs } = await watchIntervals(service.process, { fleet, sizes });
    const perInterval = usedMs / sizes.intervals - idleMs * sizes.intervalSeconds;
    return { lists, busiest, loop, cpu: perInterval / (lists * sizes.toolsets), builds: service.generations() - builds };
  } finally {
    await service.process.stop('SIGKILL');
  }
}

async function pollOfFloor(fleet: Fleet, sizes: Sizes): Promise<Partial<Record<Measure, number>>> {
  const floor = await FLOOR.start(fleet);
  try {
    const poll = () => floor.process.commander.give('poll', { overMs: sizes.intervalSeconds * 1_000 });
    await sleep(500);
    const idleMs = await idleCpu(floor.process, sizes.idleSeconds);
    const rounds = async () => {
      for (let interval = 0; interval < sizes.intervals; interval++) await poll();
    };
    const [{ lists, busiest, loop, usedMs }] = await Promise.all([watchIntervals(floor.process, { fleet, sizes }), rounds()]);
    const perInterval = usedMs / sizes.intervals - idleMs * sizes.intervalSeconds;
    return { lists, busiest, loop, cpu: perInterval / (lists * sizes.toolsets) };
  } finally {
    await floor.process.stop('SIGKILL');
  }
}

/** A peer's poll, by its own settings; the idle part of its CPU time is not known and not subtracted. */
async function pollOfPeer(
  peer: Contestant,
  { fleet, sizes }: { fleet: Fleet; sizes: Sizes },
): Promise<Partial<Record<Measure, number>> | string> {
  if (peer.cannot.P6 !== undefined) return peer.cannot.P6;
  try {
    const running = await peer.start(fleet, { pollSeconds: sizes.intervalSeconds });
    try {
      await sleep(sizes.intervalSeconds * 1_100);
      const { lists, busiest, loop, usedMs } = await watchIntervals(running.process, { fleet, sizes });
      if (lists === 0) return 'does not poll';
      return { lists, busiest, loop, cpu: usedMs / sizes.intervals / (lists * sizes.toolsets) };
    } finally {
      await running.process.stop('SIGKILL');
    }
  } catch (error) {
    // A peer that fails is a result too: the report says it in place of its figures.
    return error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
  }
}

function resultOf(figures: ReadonlyMap<Measure, Figures>, { sizes, context }: { sizes: Sizes; context: BenchContext }): ScenarioResult {
  const cells = (measure: Measure) => {
    const figure = figures.get(measure) ?? new Figures();
    return { ours: figure.cell(OURS.name), others: figure.others(OURS.name) };
  };
  const cpu = figures.get('cpu') ?? new Figures();
  const { limits } = sizes;
  const loopLimit = limits.loopMs === undefined ? {} : { limit: { atMost: limits.loopMs } };
  return {
    goal: 'P6',
    title: polling.title,
    asks: `${sizes.toolsets} unchanged toolsets, one interval: one list each, spread; CPU at most ${limits.ratio} × the floor's, no rebuild, and a heap that stays flat.`,
    rows: [
      {
        measure: 'lists per toolset and interval',
        unit: 'lists',
        limit: { atLeast: 1 - limits.off, atMost: 1 + limits.off },
        ...cells('lists'),
      },
      { measure: 'lists in the busiest second, by an average one', unit: '×', limit: { atMost: limits.busiest }, ...cells('busiest') },
      {
        ...{ measure: 'CPU time per list, without what an idle interval costs', unit: 'ms', ...cells('cpu') },
        ratio: { to: FLOOR.name, spread: spreadOf(ratios(cpu.of(OURS.name), cpu.of(FLOOR.name))), atMost: limits.ratio },
      },
      { measure: 'agents built', unit: '', limit: { atMost: 0 }, ...cells('builds') },
      { measure: 'event loop delay, p99', unit: 'ms', ...loopLimit, ...cells('loop') },
      {
        measure: 'growth of the heap per list',
        unit: 'bytes',
        limit: { atMost: limits.slope },
        noiseFloor: limits.slope,
        ...cells('slope'),
      },
    ],
    notes: [
      `The interval is ${sizes.intervalSeconds} s, measured from 2 s after the start on. The idle share was measured over ${sizes.idleSeconds} s in a process of its own with the poll switched off. The floor lists at even distances.`,
      `Each interval is ± 10 % (so that polls do not fall into step), and so is the number of lists.`,
      `Heap: ${HEAP_TOOLSETS} toolsets, ${sizes.cycles} refreshes by request of all of them after ${sizes.warmUpCycles}; the slope of a line through ${HEAP_SAMPLES + 1} heaps after garbage collection. A request reads the index too.`,
      ...(context.peers.length > 0 ? ['Where a peer polls, what it costs when idle is not subtracted.'] : []),
    ],
  };
}
