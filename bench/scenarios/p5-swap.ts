import { setTimeout as sleep } from 'node:timers/promises';
import { machineNow } from '../harness/clock.js';
import type { Contestant, Running } from '../harness/contestant.js';
import { FLOOR } from '../harness/contestant-process.js';
import { Figures } from '../harness/figures.js';
import { type Fleet, startFleet } from '../harness/fleet.js';
import { oneChange } from '../harness/one-change.js';
import type { ScenarioResult } from '../harness/result.js';
import { type BenchContext, peersIn, type Scenario } from '../harness/scenario.js';
import { OURS, startService } from '../harness/service.js';
import { quantile } from '../harness/statistics.js';

const TOOLSETS = 300;
const CHANGES = 60;
/** Changes before those that are measured, so that the compiler has seen the code. */
const WARM_UP = 40;
/** Peers are measured on fewer changes: some take more than a second for each. */
const OF_PEERS = { changes: 15, warmUp: 5 } as const;
/** So long after a change was served its aftermath still counts: the old agent is released, the generation is recorded. */
const AFTERMATH_MS = 15;

/** P5: how long the event loop stands still for a swap, and while the service starts. */
export const swap: Scenario = {
  goal: 'P5',
  title: 'A swap does not stall the event loop',
  seconds: { quick: 0, full: 45 },
  async run(context) {
    const figures = { p50: new Figures(), max: new Figures(), cpu: new Figures(), start: new Figures() };
    for (let round = 1; round <= context.rounds; round++) {
      const fleet = await startFleet({ toolsets: TOOLSETS });
      try {
        for (const contestant of [OURS, FLOOR, ...peersIn(round - 1, context)]) {
          context.say(`round ${round} of ${context.rounds}: ${contestant.name}`);
          const stalls = await stallsOf(contestant, fleet);
          if (typeof stalls === 'string')
            for (const figure of [figures.p50, figures.max, figures.cpu]) figure.cannot(contestant.name, stalls);
          else {
            figures.p50.add(contestant.name, quantile(stalls.longest, 0.5));
            figures.max.add(contestant.name, Math.max(...stalls.longest));
            figures.cpu.add(contestant.name, stalls.cpuMs);
          }
        }
        context.say(`round ${round} of ${context.rounds}: start`);
        figures.start.add(OURS.name, await longestStallOfStart(fleet));
      } finally {
        await fleet.stop();
      }
    }
    return resultOf(figures, context);
  },
};

interface Stalls {
  /** The longest stall of each change, in milliseconds. */
  readonly longest: readonly number[];
  /** CPU time per change, in milliseconds. */
  readonly cpuMs: number;
}

/** The stalls of one contestant, or why there are none. */
async function stallsOf(contestant: Contestant, fleet: Fleet): Promise<Stalls | string> {
  if (contestant.cannot.P5 !== undefined) return contestant.cannot.P5;
  let running: Running | undefined;
  try {
    running = contestant === OURS ? await startService(fleet, { debounceMs: 0 }) : await contestant.start(fleet, { debounceMs: 0 });
    const isPeer = contestant !== OURS && contestant !== FLOOR;
    return await measureStalls(running, { fleet, ...(isPeer ? OF_PEERS : { changes: CHANGES, warmUp: WARM_UP }) });
  } catch (error) {
    if (contestant === OURS || contestant === FLOOR) throw error;
    // A peer that fails is a result too: the report says it in place of its figures.
    return error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
  } finally {
    await running?.process.stop('SIGKILL');
  }
}

interface Changes {
  readonly fleet: Fleet;
  readonly changes: number;
  readonly warmUp: number;
}

async function measureStalls(running: Running, { fleet, changes, warmUp }: Changes): Promise<Stalls> {
  const { process } = running;
  for (let number = 0; number < warmUp; number++) await oneChange(running, { fleet, toolset: `t${number}` });
  const longest: number[] = [];
  for (let number = 0; number < changes; number++) {
    await process.watchLoop();
    await oneChange(running, { fleet, toolset: `t${warmUp + number}` });
    await sleep(AFTERMATH_MS);
    longest.push((await process.loopDelay()).max);
  }
  const before = await process.cpuMs();
  for (let number = 0; number < changes; number++) await oneChange(running, { fleet, toolset: `t${warmUp + changes + number}` });
  return { longest, cpuMs: ((await process.cpuMs()) - before) / changes };
}

/** The longest stall of a start, from the first `tools/list` until every toolset is listed and served. */
async function longestStallOfStart(fleet: Fleet): Promise<number> {
  await fleet.resetCounts();
  const service = await startService(fleet, { untilListening: true });
  try {
    const lists = async () => (await fleet.totals()).requests['tools/list'] ?? 0;
    const endsAt = machineNow() + 60_000;
    while ((await lists()) === 0) await sleep(2);
    await service.process.watchLoop();
    while ((await lists()) < fleet.toolsets.length) {
      if (machineNow() > endsAt) throw new Error(`Only ${await lists()} toolsets were listed.`);
      await sleep(20);
    }
    await service.process.line('"agent swapped"');
    await sleep(500);
    return (await service.process.loopDelay()).max;
  } finally {
    await service.process.stop('SIGKILL');
  }
}

function resultOf(figures: Record<'p50' | 'max' | 'cpu' | 'start', Figures>, context: BenchContext): ScenarioResult {
  const row = (figure: Figures) => ({ ours: figure.cell(OURS.name), others: figure.others(OURS.name) });
  const changed = `1 of ${TOOLSETS} toolsets changed`;
  return {
    goal: 'P5',
    title: swap.title,
    asks: `${changed}, ${TOOLSETS * 17} tools: at most 5 ms on the event loop in the middle and 15 ms at worst; a start with as many tools in slices of at most 20 ms.`,
    rows: [
      { measure: `longest stall per change, p50, ${changed}`, unit: 'ms', limit: { atMost: 5 }, ...row(figures.p50) },
      { measure: `longest stall of ${CHANGES} changes, ${changed}`, unit: 'ms', limit: { atMost: 15 }, ...row(figures.max) },
      { measure: `CPU time per change, ${changed}`, unit: 'ms', ...row(figures.cpu) },
      { measure: `longest stall of a start with ${TOOLSETS * 17} tools`, unit: 'ms', limit: { atMost: 20 }, ...row(figures.start) },
    ],
    notes: [
      `The event loop is sampled every millisecond inside the process. An idle loop shows about 1.1 ms, and nothing is subtracted: a figure is up to 1 ms more than the stall. Garbage collections count.`,
      `${WARM_UP} changes go before. Each change is announced by another toolset than the one before; the window is 0, so that no two are served together. A stall counts until ${AFTERMATH_MS} ms after the change was served.`,
      'The start is measured from the first `tools/list` on, in a fresh process, so that its code is compiled meanwhile; loading the modules before that is not counted.',
      ...(context.peers.length > 0
        ? [
            `Peers are measured in the first round, on ${OF_PEERS.changes} changes after ${OF_PEERS.warmUp}; their start is P7. Where a peer lists for each run, the stall is that of the run that first sees the change.`,
          ]
        : []),
    ],
  };
}
