import type { Generation, Lease } from '../core/generation.js';

interface Held<Agent> {
  readonly generation: Generation<Agent>;
  runs: number;
  retiredAt: Date | undefined;
}

export interface Draining {
  readonly generation: number;
  readonly runs: number;
  readonly since: string;
}

/**
 * Holds the live generation and those that still have runs. A run takes a lease and finishes on that generation, however many
 * swaps happen meanwhile (CONTRACT.md 2.3). `onReleased` is called exactly once for each generation, when it is neither live nor leased.
 */
export class GenerationSlot<Agent> {
  readonly #onReleased: (generation: Generation<Agent>) => void;
  readonly #draining = new Set<Held<Agent>>();
  #live: Held<Agent> | undefined;

  constructor(onReleased: (generation: Generation<Agent>) => void) {
    this.#onReleased = onReleased;
  }

  get current(): Generation<Agent> | undefined {
    return this.#live?.generation;
  }

  /** Puts a generation in the place of the live one, by one assignment. */
  swap(generation: Generation<Agent>, at: Date): void {
    const retired = this.#live;
    this.#live = { generation, runs: 0, retiredAt: undefined };
    if (retired !== undefined) this.#retire(retired, at);
  }

  lease(): Lease<Agent> | undefined {
    const held = this.#live;
    if (held === undefined) return undefined;
    held.runs += 1;
    let released = false;
    return {
      generation: held.generation,
      release: () => {
        if (released) return;
        released = true;
        held.runs -= 1;
        if (held.runs === 0 && this.#draining.delete(held)) this.#onReleased(held.generation);
      },
    };
  }

  draining(): Draining[] {
    return [...this.#draining].map(({ generation, runs, retiredAt }) => ({
      generation: generation.number,
      runs,
      since: (retiredAt ?? generation.builtAt).toISOString(),
    }));
  }

  #retire(held: Held<Agent>, at: Date): void {
    held.retiredAt = at;
    if (held.runs === 0) this.#onReleased(held.generation);
    else this.#draining.add(held);
  }
}
