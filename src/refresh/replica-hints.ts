import type { Catalog } from '../core/catalog.js';
import type { Generation } from '../core/generation.js';
import type { Clock, Logger } from '../core/ports.js';
import type { Hint, ReplicaLink } from '../core/replicas.js';

export interface ReplicaHintsOptions {
  readonly link: ReplicaLink;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The names of the toolsets that are watched now. */
  readonly names: () => readonly string[];
  readonly live: () => Catalog | undefined;
  /** Makes a toolset due, with the trigger `replica`. */
  readonly makeDue: (toolset: string) => void;
}

/** Replicas list at different moments after a hint, so that a toolset is not asked by all of them at once (CONTRACT.md 16.3). */
const JITTER_MS = 2_000;

/** Tells other replicas what this one found, and makes due here what they found. Neither waits for the other. */
export class ReplicaHints {
  readonly #options: ReplicaHintsOptions;
  /** Hints that wait for their moment, by toolset; of several about one toolset only the newest counts. */
  readonly #waiting = new Map<string, { fingerprint: string | undefined; readonly cancel: () => void }>();

  constructor(options: ReplicaHintsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#options.link.listen({
      hint: (hint) => this.#receive(hint),
      reconnected: () => this.#listEverything(),
    });
  }

  /** Another generation is live. @param unheard the changed toolsets of which other replicas may not know. */
  swapped({ number, fingerprint, catalog }: Generation, unheard: readonly string[]): void {
    const { link } = this.#options;
    link.serve({ generation: number, fingerprint });
    for (const { toolset, fingerprint: served } of catalog.snapshots) {
      if (unheard.includes(toolset)) link.hint({ toolset, fingerprint: served });
    }
  }

  stop(): void {
    for (const { cancel } of this.#waiting.values()) cancel();
    this.#waiting.clear();
  }

  #receive({ toolset, fingerprint, instance }: Hint): void {
    if (!this.#options.names().includes(toolset) || this.#serves(toolset, fingerprint)) return;
    this.#options.logger.debug('hint received', { toolset, from: instance });
    this.#wait(toolset, fingerprint);
  }

  /** Hints may have been missed while the store was away. */
  #listEverything(): void {
    for (const toolset of this.#options.names()) this.#wait(toolset, undefined);
  }

  #wait(toolset: string, fingerprint: string | undefined): void {
    const waiting = this.#waiting.get(toolset);
    if (waiting !== undefined) {
      waiting.fingerprint = fingerprint;
      return;
    }
    const { clock, makeDue } = this.#options;
    const cancel = clock.after(clock.random() * JITTER_MS, () => {
      const hinted = this.#waiting.get(toolset)?.fingerprint;
      this.#waiting.delete(toolset);
      // Meanwhile a notification or a poll may have brought the very same.
      if (hinted === undefined || !this.#serves(toolset, hinted)) makeDue(toolset);
    });
    this.#waiting.set(toolset, { fingerprint, cancel });
  }

  #serves(toolset: string, fingerprint: string): boolean {
    return (
      this.#options.live()?.snapshots.some((snapshot) => snapshot.toolset === toolset && snapshot.fingerprint === fingerprint) ?? false
    );
  }
}
