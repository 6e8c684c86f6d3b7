import { setTimeout as sleep } from 'node:timers/promises';
import { stampOf } from '../fleet/tools.js';
import { machineNow } from '../harness/clock.js';
import type { Contestant, Running, Served } from '../harness/contestant.js';
import { FLOOR } from '../harness/contestant-process.js';
import { Figures } from '../harness/figures.js';
import { type Fleet, startFleet } from '../harness/fleet.js';
import type { Row } from '../harness/result.js';
import { type BenchContext, peersIn, type Scenario } from '../harness/scenario.js';
import { OURS, type RunningService, startService } from '../harness/service.js';
import { greatestAge } from '../harness/staleness.js';

const TOOLSETS = 100;
const BURST = 200;
const EVERY_MS = 100;
/** With a window of 0 each change is a swap, and a toolset may cause 20 in a row (CONTRACT.md 3.10). */
const FOR_MS = { window: 5_000, noWindow: 5_000 } as const;

/** The ages first; a contestant that lists for each run has no figures of the others. */
const MEASURES = [
  'age',
  'age without a window',
  'lists of a burst of notifications',
  'rebuilds by a burst of notifications',
  'lists of a burst of changes',
  'rebuilds by a burst of changes',
  'lists of all at once',
  'rebuilds by all at once',
  'stall',
] as const;
type Measure = (typeof MEASURES)[number];
type Book = Readonly<Record<Measure, Figures>>;

export const starve: Scenario = {
  goal: 'P2',
  title: 'A steady stream of changes starves nobody',
  seconds: { quick: 16, full: 100 },
  async run(context) {
    const book = Object.fromEntries(MEASURES.map((measure) => [measure, new Figures()])) as Book;
    const fleet = await startFleet({ toolsets: TOOLSETS });
    try {
      for (let round = 0; round < context.rounds; round++) {
        context.say(`round ${round + 1} of ${context.rounds}`);
        await measureOurs(fleet, { book, mode: context.mode });
        // The quick measurement asks whether our counts are right; the floor's are known.
        if (context.mode === 'full') await measureOther(FLOOR, { fleet, book });
        for (const peer of peersIn(round, context)) await measureOther(peer, { fleet, book });
      }
    } finally {
      await fleet.stop();
    }
    return {
      goal: 'P2',
      title: starve.title,
      asks: 'a change every 100 ms: never older than 1.2 s (0.3 s without a window); 200 notifications in 1 s: at most 6 lists and 6 rebuilds; 100 toolsets at once: exactly 100 lists, at most 5 rebuilds; no stall over 20 ms',
      rows: rowsOf(book, context),
      notes: NOTES,
    };
  },
};

async function measureOurs(fleet: Fleet, { book, mode }: { book: Book; mode: BenchContext['mode'] }): Promise<void> {
  const service = await startService(fleet);
  try {
    // First, while the toolset may still cause all of its swaps in a row.
    book.age.add(OURS.name, await ageOf(service, { fleet, forMs: mode === 'quick' ? FOR_MS.noWindow : FOR_MS.window }));
    await service.process.watchLoop();
    await measureBursts({ name: OURS.name, fleet, book, built: () => service.generations() });
    book.stall.add(OURS.name, (await service.process.loopDelay()).max);
    await assertAllServed(service, fleet);
  } finally {
    await service.process.stop('SIGKILL');
  }
  if (mode === 'quick') return;
  const eager = await startService(fleet, { debounceMs: 0 });
  try {
    book['age without a window'].add(OURS.name, await ageOf(eager, { fleet, forMs: FOR_MS.noWindow }));
  } finally {
    await eager.process.stop('SIGKILL');
  }
}

async function measureOther(contestant: Contestant, { fleet, book }: { fleet: Fleet; book: Book }): Promise<void> {
  const why = contestant.cannot.P2;
  if (why !== undefined) {
    for (const measure of MEASURES) book[measure].cannot(contestant.name, why);
    return;
  }
  try {
    const running = await contestant.start(fleet);
    try {
      book.age.add(contestant.name, await ageOf(running, { fleet, forMs: FOR_MS.window }));
      if (running.tellsChanges !== true) {
        for (const measure of MEASURES.slice(2))
          book[measure].cannot(contestant.name, 'is told of no change: lists every toolset for each run');
        return;
      }
      await running.process.watchLoop();
      await measureBursts({ name: contestant.name, fleet, book, built: undefined });
      book.stall.add(contestant.name, (await running.process.loopDelay()).max);
    } finally {
      await running.process.stop('SIGKILL');
    }
  } catch (error) {
    // A peer that fails is a result too: the report says it in place of its figures.
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    for (const measure of MEASURES) book[measure].cannot(contestant.name, reason);
  }
}

interface Bursts {
  readonly name: string;
  readonly fleet: Fleet;
  readonly book: Book;
  /** How many agents were built so far; undefined where that cannot be asked. */
  readonly built: (() => number) | undefined;
}

async function measureBursts({ name, fleet, book, built }: Bursts): Promise<void> {
  const during = async (work: () => Promise<unknown>, into: { lists: Measure; rebuilds: Measure }) => {
    const before = built?.();
    await fleet.resetCounts();
    await work();
    book[into.lists].add(name, await settledLists(fleet));
    const after = built?.();
    if (before !== undefined && after !== undefined) book[into.rebuilds].add(name, after - before);
    else book[into.rebuilds].cannot(name, 'not visible from outside');
  };
  const many = { times: BURST, overMs: 1_000 };
  // What came before may be followed by a second look, which is not to be counted here.
  await settledLists(fleet);
  const of = (what: string) => ({ lists: `lists of ${what}` as Measure, rebuilds: `rebuilds by ${what}` as Measure });
  await during(() => fleet.change(), of('all at once'));
  await during(() => fleet.changeEvery('t1', { everyMs: 1_000 / BURST, forMs: 1_000 }), of('a burst of changes'));
  await during(() => fleet.announceMany('t2', many), of('a burst of notifications'));
}

/** The lists since the counters were reset, when no more have come for 1.5 s: our second look after a notification without a change comes after 1 s. */
async function settledLists(fleet: Fleet): Promise<number> {
  let lists = -1;
  for (let quiet = 0; quiet < 3; quiet++) {
    await sleep(500);
    const { requests } = await fleet.totals();
    const now = requests['tools/list'] ?? 0;
    if (now !== lists) quiet = 0;
    lists = now;
  }
  return lists;
}

/** What the fleet counted is not enough: each change has to be served as well. */
async function assertAllServed(service: RunningService, fleet: Fleet): Promise<void> {
  const { tools } = await service.get<{ tools: { toolset: string; description: string }[] }>('/connections');
  const newest = await fleet.revisions();
  const old = fleet.toolsets.filter(({ name }) => {
    const shown = tools.filter(({ toolset }) => toolset === name).map(({ description }) => stampOf(description)?.revision);
    return !shown.includes(newest[name]);
  });
  if (old.length > 0) throw new Error(`After the bursts ${old.map(({ name }) => name).join(', ')} were not served as they are.`);
}

/** The greatest age of what is served while a toolset changes every 100 ms, observed until the last change is served or for 10 s more. */
async function ageOf(running: Running, { fleet, forMs }: { fleet: Fleet; forMs: number }): Promise<number> {
  const served: Served[] = [];
  const stop = running.onServed((one) => {
    if (one.toolset === 't0') served.push(one);
  });
  let over = false;
  const asking = ask(running, { served, until: () => over });
  try {
    const changes = await fleet.changeEvery('t0', { everyMs: EVERY_MS, forMs });
    const last = changes.at(-1)?.revision ?? 0;
    const endsAt = machineNow() + 10_000;
    while (machineNow() < endsAt && !served.some(({ revision }) => revision >= last)) await sleep(20);
    return greatestAge(changes, { served, untilAt: machineNow() });
  } finally {
    over = true;
    stop();
    await asking;
  }
}

/** Asks a contestant that does not tell its changes what it serves, twenty times a second. */
async function ask(running: Running, { served, until }: { served: Served[]; until: () => boolean }): Promise<void> {
  if (running.tellsChanges === true) return;
  while (!until()) {
    const now = await running.serves('t0');
    if (now !== undefined) served.push({ toolset: 't0', revision: now.revision, at: machineNow() });
    await sleep(50);
  }
}

function rowsOf(book: Book, { mode }: BenchContext): Row[] {
  const full = mode === 'full';
  const row = (what: Measure, shown: { measure: string; unit: string; atMost?: number; noiseFloor?: number }): Row => ({
    measure: shown.measure,
    unit: shown.unit,
    ...(shown.atMost !== undefined && { limit: { atMost: shown.atMost } }),
    ours: book[what].cell(OURS.name),
    others: book[what].others(OURS.name),
    ...(shown.noiseFloor !== undefined && { noiseFloor: shown.noiseFloor }),
  });
  const counted = { noiseFloor: 6 };
  const age = `greatest age of what is served, a change every ${EVERY_MS} ms`;
  const second = `${BURST} notifications of one toolset within a second`;
  const atOnce = `${TOOLSETS} toolsets change at once`;
  const forSeconds = (full ? FOR_MS.window : FOR_MS.noWindow) / 1_000;
  const eager = row('age without a window', {
    measure: `${age} for ${FOR_MS.noWindow / 1_000} s, no window`,
    unit: 'ms',
    atMost: 300,
    noiseFloor: 50,
  });
  return [
    row('age', { measure: `${age} for ${forSeconds} s, default window`, unit: 'ms', atMost: full ? 1_200 : 3_000 }),
    ...(full ? [eager] : []),
    row('lists of a burst of changes', { measure: `${second}, each with a change: lists`, unit: 'lists', atMost: 6, ...counted }),
    row('rebuilds by a burst of changes', { measure: `${second}, each with a change: rebuilds`, unit: 'rebuilds', atMost: 6, ...counted }),
    row('lists of a burst of notifications', { measure: `${second}, without a change: lists`, unit: 'lists', atMost: 6, ...counted }),
    row('rebuilds by a burst of notifications', { measure: `${second}, without a change: rebuilds`, unit: 'rebuilds', atMost: 0 }),
    { ...row('lists of all at once', { measure: `${atOnce}: lists`, unit: 'lists' }), limit: { atLeast: TOOLSETS, atMost: TOOLSETS } },
    row('rebuilds by all at once', { measure: `${atOnce}: rebuilds`, unit: 'rebuilds', atMost: 5, ...counted }),
    row('stall', {
      measure: 'longest stall of the event loop during the three bursts',
      unit: 'ms',
      ...(full && { atMost: 20 }),
      noiseFloor: 10,
    }),
  ];
}

const NOTES = [
  'The age of what is served is, at each moment, how long ago the oldest change was made that is not served yet; the greatest one counts, until the last change is served, or 10 s after it.',
  'Each change that is served costs a swap, and a toolset may cause 20 in a row and 6 a minute after that. From the third in a row on its notifications keep a pace, so that the swaps last longer; a toolset that goes on for more than some ten seconds is served late by design.',
  'With the default window of 100 ms the changes come as fast as it ends: the more of them come a little later than that, the more swaps there are, and the sooner the 20 are used up.',
  'Lists are counted by the toolsets, rebuilds by the events of new generations. The counters are read when no list has come for 1.5 s, so the second look that follows a notification without a change is among them.',
  'The stall is the longest delay of a timer of 1 ms in the measured process. It contains what the machine does besides.',
  'The floor has no window here: it lists once for each notification.',
];
