import type { Clock } from '../../src/core/ports.js';

interface Timer {
  readonly dueAt: number;
  readonly order: number;
  readonly run: () => void;
}

/** How many event loop turns promises get to settle after each timer. One turn already empties the whole microtask queue. */
const SETTLE_TURNS = 4;

/**
 * A clock that stands still until a test moves it. Only promises settle between two timers, not network traffic: a test
 * with real sockets waits for its condition with `until` instead.
 */
export class ManualClock implements Clock {
  readonly #startedAt: number;
  readonly #timers = new Set<Timer>();
  #now = 0;
  #order = 0;
  #seed: number;

  constructor({ seed = 1, startedAt = Date.UTC(2026, 0, 1) }: { seed?: number; startedAt?: number } = {}) {
    this.#seed = seed;
    this.#startedAt = startedAt;
  }

  now(): number {
    return this.#now;
  }

  date(): Date {
    return new Date(this.#startedAt + this.#now);
  }

  after(delayMs: number, run: () => void): () => void {
    if (!Number.isFinite(delayMs)) throw new RangeError(`A timer needs a finite delay, not ${delayMs}.`);
    const timer: Timer = { dueAt: this.#now + Math.max(0, delayMs), order: this.#order++, run };
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  }

  /** Seeded: the same seed gives the same numbers on every machine (mulberry32). */
  random(): number {
    this.#seed = (this.#seed + 0x6d2b79f5) | 0;
    let bits = Math.imul(this.#seed ^ (this.#seed >>> 15), this.#seed | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }

  /** How many timers are set and have not run: 0 after everything was closed properly. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Milliseconds until the next timer is due, or undefined when none is set. */
  get nextInMs(): number | undefined {
    const next = this.#earliest(Number.POSITIVE_INFINITY);
    return next === undefined ? undefined : next.dueAt - this.#now;
  }

  /** Moves the time forward and runs every timer that becomes due, in order, also those that are set meanwhile. Promises settle before, between and after. */
  async advance(ms: number): Promise<void> {
    const target = this.#now + ms;
    await settle();
    for (let next = this.#earliest(target); next !== undefined; next = this.#earliest(target)) {
      this.#timers.delete(next);
      this.#now = next.dueAt;
      next.run();
      await settle();
    }
    this.#now = target;
  }

  #earliest(until: number): Timer | undefined {
    let found: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueAt > until) continue;
      if (found === undefined || timer.dueAt < found.dueAt || (timer.dueAt === found.dueAt && timer.order < found.order)) found = timer;
    }
    return found;
  }
}

/** Lets every promise that can settle without time or network do so. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < SETTLE_TURNS; turn++) await new Promise((resolve) => setImmediate(resolve));
}
