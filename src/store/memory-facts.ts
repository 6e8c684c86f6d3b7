import { DECISIONS_KEPT, type Decision, type Definitions, type Facts, type GenerationRecord, HISTORY_LIMITS } from '../core/facts.js';

/** Facts that live as long as the process. Numbers begin at 1. */
export class MemoryFacts implements Facts {
  readonly #generations: { readonly record: GenerationRecord; readonly bytes: number }[] = [];
  readonly #decisions: Decision[] = [];
  readonly #definitions = new Map<string, Definitions>();
  #number = 0;
  #bytes = 0;

  async nextGeneration(above: number): Promise<number> {
    this.#number = Math.max(this.#number, above) + 1;
    return this.#number;
  }

  async saveGeneration(record: GenerationRecord): Promise<void> {
    const bytes = Buffer.byteLength(JSON.stringify(record));
    this.#generations.push({ record, bytes });
    this.#bytes += bytes;
    while (this.#generations.length > 1 && (this.#generations.length > HISTORY_LIMITS.records || this.#bytes > HISTORY_LIMITS.bytes)) {
      this.#bytes -= this.#generations.shift()?.bytes ?? 0;
    }
  }

  async generations(limit: number): Promise<readonly GenerationRecord[]> {
    return this.#generations
      .slice(-limit)
      .map(({ record }) => record)
      .reverse();
  }

  async generation(number: number): Promise<GenerationRecord | undefined> {
    return this.#generations.findLast(({ record }) => record.number === number)?.record;
  }

  async saveDecision(decision: Decision): Promise<void> {
    this.#decisions.push(decision);
    if (this.#decisions.length > DECISIONS_KEPT) this.#decisions.shift();
  }

  async decisions({ toolset, limit }: { readonly toolset?: string; readonly limit: number }): Promise<readonly Decision[]> {
    const wanted = this.#decisions.filter((decision) => toolset === undefined || decision.toolset === toolset);
    return wanted.reverse().slice(0, limit);
  }

  async saveDefinitions(definitions: Definitions): Promise<void> {
    this.#definitions.set(definitions.toolset, definitions);
  }

  async definitions(toolset: string): Promise<Definitions | undefined> {
    return this.#definitions.get(toolset);
  }
}
