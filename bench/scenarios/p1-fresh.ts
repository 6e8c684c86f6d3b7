import { setTimeout as sleep } from 'node:timers/promises';
import { type Contestant, firstSeen, type Running } from '../harness/contestant.js';
import { FLOOR } from '../harness/contestant-process.js';
import { type Fleet, startFleet } from '../harness/fleet.js';
import { type BenchContext, peersIn, type Scenario } from '../harness/scenario.js';
import { OURS, type RunningService, startService } from '../harness/service.js';
import { quantile } from '../harness/statistics.js';
import { startWitness, type Witness } from '../harness/witness.js';
import { Book, CHANGES, CHANGES_OF_ONE, notesOf, restAfterSwapMs, rowsOf, WARM_UP, WINDOWS } from './p1-rows.js';

const FIRST_TOOL = 't0_find_documents_0';

export const fresh: Scenario = {
  goal: 'P1',
  title: 'A change is seen by the next run',
  seconds: { quick: 11, full: 150 },
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
            await measureRound({ ...context, peers: peersIn(round, context) }, { fleet, book, witness });
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
    const changes = context.mode === 'quick' ? 8 : size === 1 ? CHANGES_OF_ONE : CHANGES;
    const restMs = size === 1 ? restAfterSwapMs(window) : 0;
    const options = { modelUrl: witness.modelUrl, ...(window !== 100 && { debounceMs: window }) };
    const ours = await startService(fleet, options);
    await using(ours, async () => {
      const prove = size === 1 ? (revision: number) => proveByRun({ service: ours, witness, revision, book }) : undefined;
      note(OURS.name, await changeToServed(ours, { fleet, changes, restMs, afterEach: prove }));
    });
    const floor = await FLOOR.start(fleet, { debounceMs: window });
    await using(floor, async () => {
      note(FLOOR.name, await changeToServed(floor, { fleet, changes }));
      book.of('idle', size, window).add(FLOOR.name, quantile(await idleLists(floor, changes), 0.5));
    });
    if (context.mode === 'full' && size === 1) {
      const running = await startService(fleet, options);
      await using(running, async () => {
        const times = await changeToRun(running, { fleet, witness, changes, restMs });
        book.of('run p50', size, window).add(OURS.name, quantile(times, 0.5));
        book.of('run p99', size, window).add(OURS.name, quantile(times, 0.99));
      });
    }
  }
  for (const peer of context.peers) {
    const windows = WINDOWS[context.mode];
    const found = peer.cannot.P1 ?? (await timesOfPeer(peer, fleet));
    for (const window of windows) {
      for (const [what, q] of [
        ['p50', 0.5],
        ['p99', 0.99],
      ] as const) {
        const figures = book.of(what, size, window);
        if (typeof found === 'string') figures.cannot(peer.name, found);
        else figures.add(peer.name, quantile(found, q));
      }
    }
  }
}

/** How long a peer takes from a change to what the next run sees, or why that is not known. */
async function timesOfPeer(peer: Contestant, fleet: Fleet): Promise<number[] | string> {
  try {
    const running = await peer.start(fleet);
    return await using(running, () => changeToServed(running, { fleet, changes: CHANGES }));
  } catch (error) {
    // A peer that fails is a result too: the report says it in place of its figures.
    return error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
  }
}

async function using<T>(running: Running, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    // What happens at an orderly end is no part of this goal, and it takes up to two seconds.
    await running.process.stop('SIGKILL');
  }
}

interface Changes {
  readonly fleet: Fleet;
  readonly changes: number;
  /** A further pause after each change. */
  readonly restMs?: number;
  readonly afterEach?: ((revision: number) => Promise<void>) | undefined;
}

/** How long after each change the next run would see it, in milliseconds: one toolset at a time, each change announced. */
async function changeToServed(running: Running, { fleet, changes, restMs, afterEach }: Changes): Promise<number[]> {
  const times: number[] = [];
  for (let sample = -WARM_UP; sample < changes; sample++) {
    const toolset = `t${(sample + WARM_UP) % fleet.toolsets.length}`;
    const seen = firstSeen(running, toolset);
    const [change] = await fleet.change([toolset]);
    if (change === undefined) throw new Error(`${toolset} was not changed.`);
    const at = await seen.of(change.revision, 20_000);
    if (sample >= 0) times.push(at - change.changedAt);
    await afterEach?.(change.revision);
    await pause(restMs);
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
async function changeToRun(
  service: RunningService,
  { fleet, witness, changes, restMs }: { fleet: Fleet; witness: Witness; changes: number; restMs: number },
): Promise<number[]> {
  const times: number[] = [];
  for (let sample = -WARM_UP; sample < changes; sample++) {
    const changing = fleet.change(['t0']);
    for (;;) {
      const run = await witness.run(service);
      const [change] = await changing;
      if (run === undefined || change === undefined) throw new Error('The service took no run, or the toolset was not changed.');
      if (run.revisions[FIRST_TOOL] !== change.revision) continue;
      if (sample >= 0) times.push(Math.max(0, run.begunAt - change.changedAt));
      break;
    }
    await pause(restMs);
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

/** Between 10 and 40 ms more than asked for, so that the changes fall into no rhythm of anything else. */
const pause = (restMs = 0) => sleep(restMs + 10 + 30 * Math.random());
