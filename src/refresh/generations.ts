import type { Catalog } from '../core/catalog.js';
import type { Generation } from '../core/generation.js';
import type { Clock } from '../core/ports.js';
import type { RoundEffect, RoundEvent } from '../core/round-state.js';
import { type Build, buildCandidate, type Candidate, type ChangedToolset } from './candidate.js';
import { GenerationSlot } from './slot.js';

export interface GenerationsOptions<Agent> {
  readonly build: Build<Agent>;
  readonly clock: Clock;
  /** The number of the next generation. */
  readonly next: () => Promise<number>;
  /** What a build came to. */
  readonly onBuilt: (event: Extract<RoundEvent, { type: 'built' }>) => void;
  /** Keeps what a catalog's toolsets need, until it is released. */
  readonly acquire: (catalog: Catalog) => void;
  readonly onReleased: (generation: Generation<Agent>) => void;
}

/** Makes generations aside from the live one and puts them in its place when the rounds say so. */
export class Generations<Agent> {
  readonly slot: GenerationSlot<Agent>;
  readonly #options: GenerationsOptions<Agent>;
  #candidate: (Candidate<Agent> & { readonly number: number }) | undefined;

  constructor(options: GenerationsOptions<Agent>) {
    this.#options = options;
    // Told a moment later, so that everybody hears of a swap before they hear of the end of the generation that it retired.
    this.slot = new GenerationSlot((generation) => queueMicrotask(() => options.onReleased(generation)));
  }

  async make({ base, changes }: Extract<RoundEffect, { type: 'build' }>): Promise<void> {
    const candidate = await buildCandidate(this.#options.build, base, changes);
    const number = candidate.built === undefined ? 0 : await this.#options.next();
    this.#candidate = { ...candidate, number };
    const { accepted, rejected, error, built } = candidate;
    this.#options.onBuilt({ type: 'built', accepted, rejected, error, catalog: built?.catalog ?? null });
  }

  /** Says which of the changes an agent can be built from; nothing is kept. */
  async tryBuild(
    base: Catalog | null,
    changes: readonly ChangedToolset[],
  ): Promise<Omit<Candidate<Agent>, 'built'> & { readonly catalog: Catalog | null }> {
    const { built, ...verdict } = await buildCandidate(this.#options.build, base, changes);
    return { ...verdict, catalog: built?.catalog ?? null };
  }

  /** Makes the generation live that was made last. */
  install(): void {
    const candidate = this.#candidate;
    this.#candidate = undefined;
    if (candidate?.built === undefined) return;
    const { number } = candidate;
    const { agent, catalog } = candidate.built;
    this.#options.acquire(catalog);
    const builtAt = this.#options.clock.date();
    this.slot.swap({ number, agent, catalog, fingerprint: catalog.fingerprint, builtAt }, builtAt);
  }
}
