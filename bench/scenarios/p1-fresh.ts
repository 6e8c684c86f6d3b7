import { setTimeout as sleep } from 'node:timers/promises';
import { type Contestant, firstSeen, type Running } from '../harness/contestant.js';
import { FLOOR } from '../harness/contestant-process.js';
import { Figures } from '../harness/figures.js';
import { type Fleet, startFleet } from '../harness/fleet.js';
import type { Row } from '../harness/result.js';
import type { BenchContext, Scenario } from '../harness/scenario.js';
import { OURS, type RunningService, startService } from '../harness/service.js';
import { quantile, ratios, spreadOf } from '../harness/statistics.js';
import { startWitness, type Witness } from '../harness/witness.js';

/** A toolset may cause 20 swaps in a row (CONTRACT.md 3.10); with the changes that warm up, one process takes no more than that of one toolset. */
const CHANGES = 17;
const WARM_UP = 3;
const WINDOWS = { quick: [0], full: [100, 0] } as const;
const FIRST_TOOL = 't0_find_documents_0';

export const fresh: Scenario = {
  goal: 'P1',
  title: 'A change is seen by the next run',
  seconds: { quick: 14, full: 100 },
  async run(context) {
    const sizes = context.mode === 'quick' ? [1, 40] : [1, 300];
    const book = new Book();
    const witness = await startWitness();
    try {
      for (let round = 0; round < context.rounds; round++) {
        for (const toolsets of sizes) {
          context.say(`round ${round + 1} of ${context.rounds}: ${toolsets} toolsets`);
          const fleet = await startFleet({ toolsets });
          try {
            await measureRound(context, { fleet, book, witness });
          } finally {
            await fleet.stop();
          }
        }
      }
    } finally {
      await witness.stop();
    }
    return {
      goal: 'P1',
      title: fresh.title,
      asks: 'p50 at most the window and 1.5 idle `tools/list` round trips, p99 at most the window and 3; 300 toolsets within 1.25 times of one',
      rows: rowsOf(book, { context, sizes }),
      notes: notesOf(context, book),
    };
  },
};

/** What was measured: figures by measure, toolsets and window. */
class Book {
  readonly #figures = new Map<string, Figures>();
  /** Runs that were begun after the service said that it serves a change, each of which was shown it. */
  provenRuns = 0;

  of(what: string, toolsets: number, window = 0): Figures {
    const key = `${what} ${toolsets} ${window}`;
    const found = this.#figures.get(key) ?? new Figures();
    this.#figures.set(key, found);
    return found;
  }
}

interface Place {
  readonly fleet: Fleet;
  readonly book: Book;
  readonly witness: Witness;
}

async function measureRound(context: BenchContext, { fleet, book, witness }: Place): Promise<void> {
  const size = fleet.toolsets.length;
  for (const window of WINDOWS[context.mode]) {
    const note = (contestant: string, times: readonly number[]) => {
      book.of('p50', size, window).add(contestant, quantile(times, 0.5));
      book.of('p99', size, window).add(contestant, quantile(times, 0.99));
    };
    const changes = context.mode === 'quick' ? 8 : CHANGES;
    const options = { modelUrl: witness.modelUrl, ...(window !== 100 && { debounceMs: window }) };
    const ours = await startService(fleet, options);
    await using(ours, async () => {
      const prove = size === 1 ? (revision: number) => proveByRun({ service: ours, witness, revision, book }) : undefined;
      note(OURS.name, await changeToServed(ours, { fleet, changes, afterEach: prove }));
    });
    const floor = await FLOOR.start(fleet, { debounceMs: window });
    await using(floor, async () => {
      note(FLOOR.name, await changeToServed(floor, { fleet, changes }));
      book.of('idle', size, window).add(FLOOR.name, quantile(await idleLists(floor, changes), 0.5));
    });
    if (context.mode === 'full' && size === 1) {
      const running = await startService(fleet, options);
      await using(running, async () => {
        const times = await changeToRun(running, { fleet, witness });
        book.of('run p50', size, window).add(OURS.name, quantile(times, 0.5));
        book.of('run p99', size, window).add(OURS.name, quantile(times, 0.99));
      });
    }
    if (window !== 100) continue;
    for (const peer of context.peers) {
      if (peer.cannot.P1 !== undefined) for (const what of ['p50', 'p99']) book.of(what, size, window).cannot(peer.name, peer.cannot.P1);
      else await measurePeer(peer, { fleet, book, note });
    }
  }
}

async function measurePeer(
  peer: Contestant,
  { fleet, book, note }: { fleet: Fleet; book: Book; note: (name: string, times: number[]) => void },
): Promise<void> {
  try {
    const running = await peer.start(fleet);
    await using(running, async () => note(peer.name, await changeToServed(running, { fleet, changes: CHANGES })));
  } catch (error) {
    // A peer that fails is a result too: the report says it in place of its figures.
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    for (const what of ['p50', 'p99']) book.of(what, fleet.toolsets.length, 100).cannot(peer.name, why);
  }
}

async function using(running: Running, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } finally {
    // What happens at an orderly end is no part of this goal, and it takes up to two seconds.
    await running.process.stop('SIGKILL');
  }
}

interface Changes {
  readonly fleet: Fleet;
  readonly changes: number;
  readonly afterEach?: ((revision: number) => Promise<void>) | undefined;
}

/** How long after each change the next run would see it, in milliseconds: one toolset at a time, each change announced. */
async function changeToServed(running: Running, { fleet, changes, afterEach }: Changes): Promise<number[]> {
  const times: number[] = [];
  for (let sample = -WARM_UP; sample < changes; sample++) {
    const toolset = `t${(sample + WARM_UP) % fleet.toolsets.length}`;
    const seen = firstSeen(running, toolset);
    const [change] = await fleet.change([toolset]);
    if (change === undefined) throw new Error(`${toolset} was not changed.`);
    const at = await seen.of(change.revision, 20_000);
    if (sample >= 0) times.push(at - change.changedAt);
    await afterEach?.(change.revision);
    await pause();
  }
  return times;
}

/** A run that begins after a change is served is shown that change. */
async function proveByRun(given: { service: RunningService; witness: Witness; revision: number; book: Book }): Promise<void> {
  const { service, witness, revision, book } = given;
  const shown = (await witness.run(service))?.revisions[FIRST_TOOL];
  if (shown !== revision) throw new Error(`A run that began after revision ${revision} was served was shown revision ${shown}.`);
  book.provenRuns++;
}

/** Runs one after another while the toolset changes: how long after each change the first run began that was shown it. */
async function changeToRun(service: RunningService, { fleet, witness }: { fleet: Fleet; witness: Witness }): Promise<number[]> {
  const times: number[] = [];
  for (let sample = -WARM_UP; sample < CHANGES; sample++) {
    const changing = fleet.change(['t0']);
    for (;;) {
      const run = await witness.run(service);
      const [change] = await changing;
      if (run === undefined || change === undefined) throw new Error('The service took no run, or the toolset was not changed.');
      if (run.revisions[FIRST_TOOL] !== change.revision) continue;
      if (sample >= 0) times.push(Math.max(0, run.begunAt - change.changedAt));
      break;
    }
    await pause();
  }
  return times;
}

/** What one `tools/list` takes when nothing else happens, at the same pace as the changes. */
async function idleLists(floor: Awaited<ReturnType<typeof FLOOR.start>>, changes: number): Promise<number[]> {
  const times: number[] = [];
  for (let sample = -WARM_UP; sample < changes; sample++) {
    const time = await floor.process.commander.give<number>('list', { toolset: 't0' });
    if (sample >= 0) times.push(time);
    await pause();
  }
  return times;
}

/** Between 10 and 40 ms, so that the changes fall into no rhythm of anything else. */
const pause = () => sleep(10 + 30 * Math.random());

function rowsOf(book: Book, { context, sizes }: { context: BenchContext; sizes: readonly number[] }): Row[] {
  const rows: Row[] = [];
  const [one = 1, many = 1] = sizes;
  const asked: { p50: number; p99?: number; many: number } =
    context.mode === 'quick' ? { p50: 20, many: 5 } : { p50: 1.5, p99: 3, many: 1.25 };
  const idleOf = (size: number, window: number) => book.of('idle', size, window).of(FLOOR.name);
  const servedOf = (what: string, size: number, window: number) =>
    book
      .of(what, size, window)
      .of(OURS.name)
      .map((time) => Math.max(0, time - window));
  for (const window of WINDOWS[context.mode]) {
    for (const size of sizes) {
      for (const what of ['p50', 'p99'] as const) {
        const figures = book.of(what, size, window);
        rows.push({
          measure: `change to served, ${what}, ${named(size)}, window ${window} ms`,
          unit: 'ms',
          ours: figures.cell(OURS.name),
          others: figures.others(OURS.name),
          ratio: {
            to: 'an idle `tools/list` of the floor, after the window is taken off',
            spread: spreadOf(ratios(servedOf(what, size, window), idleOf(size, window))),
            ...(asked[what] !== undefined && { atMost: asked[what] }),
          },
        });
      }
    }
    const growth = ratios(book.of('p50', many, window).of(OURS.name), book.of('p50', one, window).of(OURS.name));
    rows.push({
      measure: `change to served, p50, ${named(many)} against 1, window ${window} ms`,
      unit: '×',
      limit: { atMost: asked.many },
      ours: spreadOf(growth),
      others: { [FLOOR.name]: spreadOf(ratios(book.of('p50', many, window).of(FLOOR.name), book.of('p50', one, window).of(FLOOR.name))) },
    });
    rows.push({
      measure: `an idle \`tools/list\`, p50, window ${window} ms: what the ratios refer to`,
      unit: 'ms',
      ours: { cannot: 'it is the floor that is asked' },
      others: book.of('idle', one, window).others(OURS.name),
    });
    if (context.mode === 'full') {
      for (const what of ['run p50', 'run p99']) {
        rows.push({
          measure: `change to the beginning of the first run that sees it, ${what.slice(4)}, 1 toolset, window ${window} ms`,
          unit: 'ms',
          ours: book.of(what, one, window).cell(OURS.name),
          others: {},
        });
      }
    }
  }
  return rows;
}

const named = (toolsets: number) => `${toolsets} toolset${toolsets === 1 ? '' : 's'}`;

function notesOf({ mode, peers }: BenchContext, { provenRuns }: Book): string[] {
  return [
    `In each process ${WARM_UP} changes warm up and ${CHANGES} are measured, with a pause of 10 to 40 ms after each. A toolset may cause 20 swaps in a row, so one process takes no more of a single toolset; p99 is therefore nearly the slowest of a round.`,
    'The time begins when the toolset has changed and is about to announce it, and ends when the event of the new generation has arrived at a client of `GET /refresh/events`. Both are read from the machine’s monotonic clock.',
    `After each of these events with one toolset a real run was begun: in all ${provenRuns} of them the model was shown the new description. A run that is shown an older one would end the benchmark with an error.`,
    'The floor lists when it is notified, after the same window, and looks at the first description only. Its idle `tools/list` is measured in the same process, with the same pauses.',
    ...(mode === 'full'
      ? ['The first run that sees a change is found by runs one after another; the figure can be late by the length of one run.']
      : ['The quick measurement has fewer toolsets and generous limits: it finds what has become several times slower.']),
    ...(peers.length > 0
      ? [
          'Peers are measured with their own default window. One that lists for each run is asked again and again, and the time until its first right answer counts.',
        ]
      : []),
  ];
}
