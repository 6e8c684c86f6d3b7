import { setTimeout as sleep } from 'node:timers/promises';
import { machineNow } from '../harness/clock.js';
import { type Contestant, firstSeen } from '../harness/contestant.js';
import { FLOOR } from '../harness/contestant-process.js';
import { Figures } from '../harness/figures.js';
import { type Fleet, startFleet } from '../harness/fleet.js';
import type { Row } from '../harness/result.js';
import type { BenchContext, Scenario } from '../harness/scenario.js';
import { OURS, startService } from '../harness/service.js';
import { ratios, spreadOf } from '../harness/statistics.js';
import { startWitness, type Witness } from '../harness/witness.js';

const HANGING_MS = { quick: 3_000, full: 30_000 } as const;
/** The floor's figures do not depend on how long it waits. */
const FLOOR_HANGING_MS = 3_000;
const TOOLSETS = { quick: 40, full: 100 } as const;
const TOOLS = 17;
/** Who has not served the toolset that hung after this time is said not to serve it. */
const PATIENCE_MS = 10_000;

/** What one start showed. Times are in milliseconds. */
interface Start {
  /** From the first list answered to the first run taken. */
  readonly run: number;
  /** From the first request to the answer to the last list but that of the toolset that hangs. */
  readonly connected: number;
  /** From the end of the hang until what hung was served; undefined where nothing hung, or where it was never served. */
  readonly late: number | undefined;
}

interface Book {
  readonly run: Figures;
  readonly connected: Figures;
  readonly connectedFreely: Figures;
  readonly late: Figures;
}

export const start: Scenario = {
  goal: 'P7',
  title: 'A start with a toolset that hangs',
  seconds: { quick: 11, full: 100 },
  async run(context) {
    const book: Book = { run: new Figures(), connected: new Figures(), connectedFreely: new Figures(), late: new Figures() };
    const witness = await startWitness();
    // Half a minute of waiting in each round: two show what three would.
    const rounds = Math.min(context.rounds, 2);
    try {
      for (let round = 0; round < rounds; round++) {
        context.say(`round ${round + 1} of ${rounds}`);
        await measureRound(context, { book, witness });
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
  const hangMs = name === FLOOR.name ? FLOOR_HANGING_MS : HANGING_MS[context.mode];
  const fleet = await startFleet({ toolsets: TOOLSETS[context.mode] });
  try {
    const found = await measureStart(fleet, { begin, hangMs: hangs ? hangMs : 0 });
    (hangs ? book.connected : book.connectedFreely).add(name, found.connected);
    if (!hangs) return;
    book.run.add(name, found.run);
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

/** A contestant that has been started, and may still wait for toolsets. */
interface Beginning {
  /** When it took, or would take, its first run. */
  readonly runAt: Promise<number>;
  /** When the toolset was served, at the earliest from now on. */
  servedAt(toolset: string): Promise<number>;
  stop(): Promise<void>;
}

type Begin = (fleet: Fleet) => Promise<Beginning>;

async function measureStart(fleet: Fleet, { begin, hangMs }: { begin: Begin; hangMs: number }): Promise<Start> {
  const hanging = fleet.toolsets.at(-1)?.name ?? '';
  if (hangMs > 0) await fleet.hang(hanging, true);
  const hangUntil = machineNow() + hangMs;
  const beginning = await begin(fleet);
  try {
    const others = fleet.toolsets.length - 1;
    const listed = await untilListed(fleet, { others, hanging, timeoutMs: hangMs + 60_000 });
    const connected = listed.lastAt - listed.begunAt;
    if (hangMs === 0) return { run: (await beginning.runAt) - listed.firstAt, connected, late: undefined };
    await sleep(Math.max(0, hangUntil - machineNow()));
    const serving = beginning.servedAt(hanging);
    const answersAt = await fleet.hang(hanging, false);
    const late = await serving.then(
      (at) => at - answersAt,
      // Never to serve it is a result, which the report shows.
      () => undefined,
    );
    return { run: (await beginning.runAt) - listed.firstAt, connected, late };
  } finally {
    await beginning.stop();
  }
}

/** Waits until all toolsets but the one that hangs have answered a list. */
async function untilListed(fleet: Fleet, { others, hanging, timeoutMs }: { others: number; hanging: string; timeoutMs: number }) {
  const endsAt = machineNow() + timeoutMs;
  for (;;) {
    const firsts = Object.entries(await fleet.firsts());
    const listed = firsts.flatMap(([name, { listedAt }]) => (name === hanging || listedAt === null ? [] : [listedAt]));
    if (listed.length >= others) {
      const begun = firsts.flatMap(([, { requestAt }]) => (requestAt === null ? [] : [requestAt]));
      return { begunAt: Math.min(...begun), firstAt: Math.min(...listed), lastAt: Math.max(...listed) };
    }
    if (machineNow() > endsAt) throw new Error(`Only ${listed.length} of ${others} toolsets were listed.`);
    await sleep(50);
  }
}

async function beginOurs(fleet: Fleet, witness: Witness): Promise<Beginning> {
  const service = await startService(fleet, { untilListening: true, modelUrl: witness.modelUrl });
  let over = false;
  const firstRun = async () => {
    while (!over) {
      const run = await witness.run(service);
      if (run !== undefined && run.tools >= TOOLS) return run.takenAt;
      await sleep(20);
    }
    throw new Error('The service was stopped before it took a run.');
  };
  const runAt = firstRun();
  runAt.catch(() => undefined);
  return {
    runAt,
    servedAt: (toolset) => firstSeen(service, toolset).of(0, PATIENCE_MS),
    async stop() {
      over = true;
      await service.process.stop('SIGKILL');
    },
  };
}

/** The floor has no runs. It could take one as soon as the first toolset has answered. */
async function beginFloor(fleet: Fleet): Promise<Beginning> {
  const running = FLOOR.begin(fleet);
  running.started.catch(() => undefined);
  const first = new Promise<number>((resolve) => {
    running.onServed(({ at }) => resolve(at));
  });
  return {
    runAt: first,
    servedAt: (toolset) => firstSeen(running, toolset).of(0, PATIENCE_MS),
    stop: () => running.process.stop('SIGKILL'),
  };
}

/** A peer takes runs when its start is over: before that its user has no agent. */
async function beginPeer(peer: Contestant, fleet: Fleet): Promise<Beginning> {
  const starting = peer.start(fleet);
  const runAt = starting.then(() => machineNow());
  runAt.catch(() => undefined);
  return {
    runAt,
    async servedAt(toolset) {
      const running = await starting;
      const seen = firstSeen(running, toolset);
      // A start that waited for the toolset has served it before anybody could listen.
      return (await running.serves(toolset)) === undefined ? seen.of(0, PATIENCE_MS) : machineNow();
    },
    async stop() {
      const running = await starting.catch(() => undefined);
      await running?.process.stop('SIGKILL');
    },
  };
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
  'A peer takes runs when its own start is over. The floor, which has no runs, is shown with its first list; for it the toolset hangs for 3 s.',
];
