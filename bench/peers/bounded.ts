import { setTimeout as sleep } from 'node:timers/promises';
import type { Contestant, Running, StartOptions } from '../harness/contestant.js';
import type { contestantOf } from '../harness/contestant-process.js';
import type { Fleet } from '../harness/fleet.js';

/** Enough for a thousand toolsets, and for a toolset that hangs for half a minute. */
const START_WITHIN_MS = 120_000;
const ANSWER_WITHIN_MS = 20_000;

/** A peer that waits for ever must not hold up the others: what it does not do in time is an error, which its cell shows. */
export function bounded(peer: ReturnType<typeof contestantOf>): Contestant {
  return {
    ...peer,
    async start(fleet: Fleet, options?: StartOptions): Promise<Running> {
      const { started, ...running } = peer.begin(fleet, options);
      try {
        await within(started, { ms: START_WITHIN_MS, what: 'did not start' });
      } catch (error) {
        await running.stop();
        throw error;
      }
      return {
        ...running,
        serves: (toolset) => within(running.serves(toolset), { ms: ANSWER_WITHIN_MS, what: 'did not say what a run is shown' }),
      };
    },
  };
}

async function within<T>(result: Promise<T>, { ms, what }: { ms: number; what: string }): Promise<T> {
  const over = new AbortController();
  const tooLong = async (): Promise<never> => {
    await sleep(ms, undefined, { signal: over.signal });
    throw new Error(`${what} within ${ms / 1_000} s`);
  };
  try {
    return await Promise.race([result, tooLong()]);
  } finally {
    over.abort();
  }
}
