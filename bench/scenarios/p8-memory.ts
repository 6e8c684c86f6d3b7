import { setTimeout as sleep } from 'node:timers/promises';
import type { Contestant } from '../harness/contestant.js';
import { FLOOR } from '../harness/contestant-process.js';
import { Figures } from '../harness/figures.js';
import { type Fleet, startFleet } from '../harness/fleet.js';
import type { ScenarioResult } from '../harness/result.js';
import { type BenchContext, peersIn, type Scenario } from '../harness/scenario.js';
import { OURS } from '../harness/service.js';

/** The heap with the large fleet less the heap with the small one, so that what a process costs without toolsets is not counted. */
const SIZES = { quick: { small: 10, large: 110, limit: 260 }, full: { small: 10, large: 1_000, limit: 130 } } as const;
const STRETCH_KB = 100;
/** What a start has left behind is let go of meanwhile. */
const SETTLE_MS = 1_000;

/** P8: what one more watched toolset keeps on the heap. */
export const memory: Scenario = {
  goal: 'P8',
  title: 'Memory of a watched toolset',
  seconds: { quick: 0, full: 100 },
  async run(context) {
    const sizes = SIZES[context.mode];
    const heap = new Figures();
    const resident = new Figures();
    // Heap sizes hardly differ from round to round, and a thousand toolsets take long to start.
    const rounds = 1;
    for (let round = 1; round <= rounds; round++) {
      for (const contestant of [OURS, FLOOR, ...peersIn(round - 1, context)]) {
        context.say(`round ${round} of ${rounds}: ${contestant.name}`);
        const perToolset = await growth(contestant, sizes);
        if (typeof perToolset === 'string') for (const figure of [heap, resident]) figure.cannot(contestant.name, perToolset);
        else {
          heap.add(contestant.name, perToolset.heap);
          resident.add(contestant.name, perToolset.rss);
        }
      }
    }
    return resultOf({ heap, resident }, { sizes, context });
  },
};

interface Sizes {
  readonly small: number;
  readonly large: number;
  readonly limit: number;
}

interface PerToolset {
  /** In thousands of bytes. */
  readonly heap: number;
  readonly rss: number;
}

/** How much each further toolset adds, or why that is not known. */
async function growth(contestant: Contestant, { small, large }: Sizes): Promise<PerToolset | string> {
  if (contestant.cannot.P8 !== undefined) return contestant.cannot.P8;
  try {
    const few = await memoryWith(contestant, small);
    const many = await memoryWith(contestant, large);
    const perToolset = (of: 'heap' | 'rss') => (many[of] - few[of]) / (large - small) / 1_000;
    return { heap: perToolset('heap'), rss: perToolset('rss') };
  } catch (error) {
    if (contestant === OURS || contestant === FLOOR) throw error;
    // A peer that fails is a result too: the report says it in place of its figures.
    return error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
  }
}

async function memoryWith(contestant: Contestant, toolsets: number): Promise<PerToolset> {
  const fleet: Fleet = await startFleet({ toolsets });
  try {
    const running = await contestant.start(fleet);
    try {
      await sleep(SETTLE_MS);
      return await running.process.memory();
    } finally {
      await running.process.stop('SIGKILL');
    }
  } finally {
    await fleet.stop();
  }
}

function resultOf(
  { heap, resident }: Record<'heap' | 'resident', Figures>,
  { sizes, context }: { sizes: Sizes; context: BenchContext },
): ScenarioResult {
  const row = (figure: Figures) => ({ ours: figure.cell(OURS.name), others: figure.others(OURS.name) });
  return {
    goal: 'P8',
    title: memory.title,
    asks: `At most ${sizes.limit} kB of heap per watched toolset with 17 tools, at ${sizes.large} toolsets${context.mode === 'full' ? `; ${STRETCH_KB} kB would be better` : ''}.`,
    rows: [
      { measure: 'heap per watched toolset with 17 tools', unit: 'kB', limit: { atMost: sizes.limit }, ...row(heap) },
      { measure: 'memory of the process per watched toolset', unit: 'kB', ...row(resident) },
    ],
    notes: [
      `The heap after garbage collection with ${sizes.large} toolsets, less that with ${sizes.small}, by the number of toolsets between; each in a fresh process, ${SETTLE_MS / 1_000} s after all toolsets are listed and watched. 1 kB is 1 000 bytes.`,
      'The floor keeps no definitions, so it shows what a connection takes. The heap of the others holds the definitions of the tools, the session with its open stream, and what is kept to serve them. The memory of the process also has what the garbage collector has not given back.',
    ],
  };
}
