import type { Cell } from './result.js';
import { spreadOf } from './statistics.js';

/** The figures of one measure, by contestant: one for each round, or the reason why there is none. */
export class Figures {
  readonly #rounds = new Map<string, number[]>();
  readonly #reasons = new Map<string, string[]>();

  add(contestant: string, figure: number): void {
    this.#rounds.set(contestant, [...this.of(contestant), figure]);
  }

  /** Says why a contestant has no figure in one round. A median of the other rounds would hide that, so it is shown in place of them. */
  cannot(contestant: string, why: string): void {
    this.#reasons.set(contestant, [...(this.#reasons.get(contestant) ?? []), why]);
  }

  /** Round by round. */
  of(contestant: string): readonly number[] {
    return this.#rounds.get(contestant) ?? [];
  }

  cell(contestant: string): Cell {
    const rounds = this.of(contestant);
    const reasons = this.#reasons.get(contestant) ?? [];
    const [why] = reasons;
    if (why === undefined) return rounds.length > 0 ? spreadOf(rounds) : { cannot: 'not measured' };
    return { cannot: rounds.length === 0 ? why : `${why} (${reasons.length} of ${reasons.length + rounds.length} times)` };
  }

  /** The cells of all contestants but this one. */
  others(than: string): Record<string, Cell> {
    const names = new Set([...this.#rounds.keys(), ...this.#reasons.keys()]);
    names.delete(than);
    return Object.fromEntries([...names].map((name) => [name, this.cell(name)]));
  }
}
