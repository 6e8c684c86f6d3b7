import { setTimeout as sleep } from 'node:timers/promises';
import { machineNow } from '../harness/clock.js';
import { FLOOR } from '../harness/contestant-process.js';
import { Figures } from '../harness/figures.js';
import { type Fleet, startFleet } from '../harness/fleet.js';
import type { Row } from '../harness/result.js';
import { type BenchContext, peersIn, type Scenario } from '../harness/scenario.js';
import { OURS } from '../harness/service.js';
import { ratios, spreadOf } from '../harness/statistics.js';
import { startWitness, type Witness } from '../harness/witness.js';
import { type Begin, beginFloor, beginOurs, beginPeer, PATIENCE_MS } from './p7-begin.js';

const HANGING_MS = { quick: 3_000, full: 30_000 } as const;
/** The shortest hang after the first list. The floor has no longer one: its figures do not depend on how long it waits. */
const LEAST_HANGING_MS = 3_000;
const TOOLSETS = { quick: 40, full: 100 } as const;

/** What one start showed. Times are in milliseconds. */
interface Start {
  /** From the first list answered to the first run taken. */
  readonly run: number;
  /** From the first request that any toolset got to the first run taken. */
  readonly runFromRequest: number;
  /** From the first request to the answer to the last list but that of the toolset that hangs. */
  readonly connected: number;
  /** From the end of the hang until what hung was served; undefined where nothing hung, or where it was never served. */
  readonly late: number | undefined;
}

interface Book {
  readonly run: Figures;
  readonly runFromRequest: Figures;
  readonly connected: Figures;
  readonly connectedFreely: Figures;
  readonly late: Figures;
}

export const start: Scenario = {
  goal: 'P7',
  title: 'A start with a toolset that hangs',
  seconds: { quick: 13, full: 75 },
  async run(context) {
    const book: Book = {
      run: new Figures(),
      runFromRequest: new Figures(),
      connected: new Figures(),
      connectedFreely: new Figures(),
      late: new Figures(),
    };
    const witness = await startWitness();
    // Half a minute of waiting in each round: two show what three would.
    const rounds = Math.min(context.rounds, 2);
    try {
      for (let round = 0; round < rounds; round++) {
        context.say(`round ${round + 1} of ${rounds}`);
        await measureRound({ ...context, peers: peersIn(round, context) }, { book, witness });
      }
    } finally {
      await witness.stop();
    }
    return {
      goal: 'P7',
      title: start.title,
      asks: 'of 100 toolsets one hangs for 30 s: runs served at most 2.5 s after the first toolset answered, the other 99 connected in at most 1.2 times the time without the hang, the one that hung served at most 200 ms after it answers',
      rows: rowsOf(book, context),
      notes: NOTES,
    };
  },
};

async function measureRound(context: BenchContext, { book, witness }: { book: Book; witness: Witness }): Promise<void> {
  const begins: { readonly name: string; readonly begin: Begin }[] = [
    { name: OURS.name, begin: (fleet) => beginOurs(fleet, witness) },
    { name: FLOOR.name, begin: beginFloor },
  ];
  for (const peer of context.peers) {
    const why = peer.cannot.P7;
    if (why === undefined) begins.push({ name: peer.name, begin: (fleet) => beginPeer(peer, fleet) });
    else for (const figures of Object.values(book)) figures.cannot(peer.name, why);
  }
  for (const { name, begin } of begins) {
    for (const hangs of [false, true]) {
      context.say(`${name}, ${hangs ? 'one toolset hangs' : 'nothing hangs'}`);
      await note({ name, begin, hangs, book, context });
    }
  }
}

async function note(given: { name: string; begin: Begin; hangs: boolean; book: Book; context: BenchContext }): Promise<void> {
  const { name, begin, hangs, book, context } = given;
  const hangMs = name === FLOOR.name ? LEAST_HANGING_MS : HANGING_MS[context.mode];
  const fleet = await startFleet({ toolsets: TOOLSETS[context.mode] });
  try {
    const found = await measureStart(fleet, { begin, hangMs: hangs ? hangMs : 0 });
    (hangs ? book.connected : book.connectedFreely).add(name, found.connected);
    if (!hangs) return;
    book.run.add(name, found.run);
    book.runFromRequest.add(name, found.runFromRequest);
    if (found.late === undefined) book.late.cannot(name, `not served within ${PATIENCE_MS / 1_000} s`);
    else book.late.add(name, found.late);
  } catch (error) {
    if (name === OURS.name) throw error;
    // A peer that fails is a result too: the report says it in place of its figures.
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    for (const figures of Object.values(book)) figures.cannot(name, why);
  } finally {
    await fleet.stop();
  }
}

async function measureStart(fleet: Fleet, { begin, hangMs }: { begin: Begin; hangMs: number }): Promise<Start> {
  const hanging = fleet.toolsets.at(-1)?.name ?? '';
  if (hangMs > 0) await fleet.hang(hanging, true);
  const hangUntil = machineNow() + hangMs;
  const beginning = await begin(fleet);
  try {
    const others = fleet.toolsets.length - 1;
    const found = async (late: number | undefined): Promise<Start> => {
      const runAt = await beginning.runAt;
      const listed = await untilListed(fleet, { wanted: others, but: hanging, timeoutMs: 60_000 });
      return { run: runAt - listed.firstAt, runFromRequest: runAt - listed.begunAt, connected: listed.lastAt - listed.begunAt, late };
    };
    if (hangMs === 0) return await found(undefined);
    // Long enough for the first generation, which waits 2 s for what is missing, also where the process itself was slow to start. Some
    // peers list nothing while one toolset hangs; for them it ends all the same.
    const first = await untilListed(fleet, { wanted: 1, but: hanging, timeoutMs: hangMs }).catch(() => undefined);
    await sleep(Math.max(hangUntil, (first?.firstAt ?? 0) + LEAST_HANGING_MS) - machineNow());
    const serving = beginning.servedAt(hanging);
    const answersAt = await fleet.hang(hanging, false);
    const late = await serving.then(
      (at) => at - answersAt,
      // Never to serve it is a result, which the report shows.
      () => undefined,
    );
    return await found(late);
  } finally {
    await beginning.stop();
  }
}

/** Waits until so many toolsets have answered a list, not counting the one that hangs. */
async function untilListed(fleet: Fleet, { wanted, but, timeoutMs }: { wanted: number; but: string; timeoutMs: number }) {
  const endsAt = machineNow() + timeoutMs;
  for (;;) {
    const firsts = Object.entries(await fleet.firsts());
    const listed = firsts.flatMap(([name, { listedAt }]) => (name === but || listedAt === null ? [] : [listedAt]));
    if (listed.length >= wanted) {
      const begun = firsts.flatMap(([, { requestAt }]) => (requestAt === null ? [] : [requestAt]));
      return { begunAt: Math.min(...begun), firstAt: Math.min(...listed), lastAt: Math.max(...listed) };
    }
    if (machineNow() > endsAt) throw new Error(`Only ${listed.length} of ${wanted} toolsets were listed.`);
    await sleep(50);
  }
}

function rowsOf(book: Book, { mode }: BenchContext): Row[] {
  const quick = mode === 'quick';
  const count = TOOLSETS[mode];
  const hang = `one of ${count} toolsets hangs for ${HANGING_MS[mode] / 1_000} s`;
  const slower = (name: string) => ratios([...book.connected.of(name)], [...book.connectedFreely.of(name)]);
  return [
    {
      measure: `${hang}: the first list answered to the first run taken`,
      unit: 'ms',
      limit: { atMost: quick ? 3_800 : 2_500 },
      ours: book.run.cell(OURS.name),
      others: book.run.others(OURS.name),
    },
    {
      measure: `${hang}: the first request to any toolset to the first run taken`,
      unit: 'ms',
      ours: book.runFromRequest.cell(OURS.name),
      others: book.runFromRequest.others(OURS.name),
    },
    {
      measure: `${hang}: the others connected and listed`,
      unit: 'ms',
      ours: book.connected.cell(OURS.name),
      others: book.connected.others(OURS.name),
      ratio: {
        to: 'the same without the hang',
        spread: spreadOf(slower(OURS.name)),
        atMost: quick ? 3 : 1.2,
      },
    },
    {
      measure: `nothing hangs: the first ${count - 1} of ${count} toolsets connected and listed`,
      unit: 'ms',
      ours: book.connectedFreely.cell(OURS.name),
      others: book.connectedFreely.others(OURS.name),
    },
    {
      measure: `${hang}: its first answer to served`,
      unit: 'ms',
      limit: { atMost: quick ? 2_000 : 200 },
      ours: book.late.cell(OURS.name),
      others: book.late.others(OURS.name),
      noiseFloor: 200,
    },
  ];
}

const NOTES = [
  'The toolset that hangs accepts connections and answers nothing, from before the process starts. When the hang ends, requests that wait are answered.',
  'A run is asked for every 20 ms until one is taken; the model is then shown the tools. The time begins with the first list that a toolset answered. By contract the first generation is built 2 s after the first answer when a toolset has not answered by then.',
  'Connected and listed: from the first request that any toolset got to the answer to the last list, all but that of the toolset that hangs, or in the start without a hang that of the last one in the index.',
  'Peers are measured once. A peer takes runs when its own start is over. Some list nothing at all before the hang ends; therefore the time from the first request is shown too. The floor, which has no runs, is shown with its first list; for it the toolset hangs for 3 s.',
];
