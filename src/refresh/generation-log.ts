import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Decision, Facts, GenerationRecord } from '../core/facts.js';
import type { Clock, Logger } from '../core/ports.js';

export interface GenerationLogOptions {
  /** Where numbers and records are kept; without it numbers rise from 1 and nothing is recorded. */
  readonly facts: Facts | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A swap waits no longer than this for its number. */
const NUMBER_MS = 1_000;
const RETRY_MS = 5_000;
/** So many records wait for a store that cannot be reached; older ones are given up. */
const WAITING_RECORDS = 100;

/** Numbers generations and records them. A store that cannot be reached never stops a swap (CONTRACT.md 16.1). */
export class GenerationLog {
  readonly #facts: Facts | undefined;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #waiting: (() => GenerationRecord)[] = [];
  #last = 0;
  #writing: Promise<void> | undefined;
  #stopped = false;
  #cancelRetry: () => void = () => undefined;

  constructor({ facts, clock, logger }: GenerationLogOptions) {
    this.#facts = facts;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** The next number, higher than every number of this process and, where the store answers in time, than those of all others. */
  async next(): Promise<number> {
    const given = this.#facts === undefined ? undefined : await this.#ask(this.#facts);
    this.#last = Math.max(given ?? 0, this.#last + 1);
    return this.#last;
  }

  /**
   * Keeps a record, later where the store cannot be reached now. It is made only where it can be kept, and not before the swap is over: the
   * definitions of thousands of new tools take a while to be written down.
   */
  add(make: () => GenerationRecord): void {
    if (this.#facts === undefined) return;
    let record: GenerationRecord | undefined;
    this.#waiting.push(() => {
      record ??= make();
      return record;
    });
    if (this.#waiting.length > WAITING_RECORDS) this.#waiting.shift();
    this.#writing ??= this.#write(this.#facts);
  }

  /** The newest records, newest first, those included that are not written yet. Rejects with a StoreFailure. */
  async generations(limit: number): Promise<readonly GenerationRecord[]> {
    const waiting = this.#waiting.map((make) => make()).reverse();
    const written = this.#facts === undefined ? [] : await this.#facts.generations(limit);
    const known = new Set(written.map(({ number, instance }) => `${number} ${instance}`));
    const unwritten = waiting.filter(({ number, instance }) => !known.has(`${number} ${instance}`));
    return [...unwritten, ...written].sort((a, b) => b.number - a.number).slice(0, limit);
  }

  /** Rejects with a StoreFailure. */
  async generation(number: number): Promise<GenerationRecord | undefined> {
    return this.#waiting.map((make) => make()).findLast((record) => record.number === number) ?? (await this.#facts?.generation(number));
  }

  /** The newest decisions about changes that were held for review, newest first. Rejects with a StoreFailure. */
  async decisions(limit: number): Promise<readonly Decision[]> {
    return this.#facts === undefined ? [] : this.#facts.decisions({ limit });
  }

  /** Waits for what is being written; what could not be written by now is given up. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelRetry();
    await this.#writing;
  }

  async #ask(facts: Facts): Promise<number | undefined> {
    let cancel: () => void = () => undefined;
    const late = new Promise<undefined>((resolve) => {
      cancel = this.#clock.after(NUMBER_MS, () => resolve(undefined));
    });
    const asked = facts.nextGeneration(this.#last).catch((error: unknown) => {
      // The number is then one that this process gives itself; its record moves the store's counter when it is written.
      this.#logger.warn('generation not numbered by the store', { code: codeOf(error) });
      return undefined;
    });
    try {
      return await Promise.race([asked, late]);
    } finally {
      cancel();
    }
  }

  async #write(facts: Facts): Promise<void> {
    try {
      for (let make = this.#waiting[0]; make !== undefined; make = this.#waiting[0]) {
        await nextTurn();
        await facts.saveGeneration(make());
        if (this.#waiting[0] === make) this.#waiting.shift();
      }
      this.#writing = undefined;
    } catch (error) {
      // Nothing depends on the record but the history; it is tried again until the service stops.
      this.#logger.warn('generation not recorded yet', { code: codeOf(error) });
      this.#writing = undefined;
      if (this.#stopped) return;
      this.#cancelRetry = this.#clock.after(RETRY_MS, () => {
        this.#writing ??= this.#write(facts);
      });
    }
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
