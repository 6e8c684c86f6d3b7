import type { Outcome, RoundRecord } from '../core/status.js';

const KEPT = 50;

/** The last 50 rounds, newest last, and how many there were of each outcome. */
export class History {
  readonly #rounds: RoundRecord[] = [];
  readonly #counts: Record<Outcome, number> = { swapped: 0, held: 0, unchanged: 0, aborted: 0, rejected: 0 };

  add(record: RoundRecord): void {
    this.#counts[record.outcome] += 1;
    this.#rounds.push(record);
    if (this.#rounds.length > KEPT) this.#rounds.shift();
  }

  get counts(): Readonly<Record<Outcome, number>> {
    return { ...this.#counts };
  }

  get rounds(): readonly RoundRecord[] {
    return [...this.#rounds];
  }

  get last(): RoundRecord | null {
    return this.#rounds.at(-1) ?? null;
  }
}
