const MB = 1024 * 1024;
/** How much the floor of the heap may rise from the first part of the soak to the last. */
const MAY_RISE = { factor: 1.25, bytes: 15 * MB };

interface Sample {
  readonly heap: number;
  readonly rss: number;
  readonly handles: number;
}

/** The memory of the service over time, as it says itself at `GET /metrics`. */
export class Memory {
  readonly #baseUrl: string;
  readonly #samples: Sample[] = [];

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  async sample(): Promise<void> {
    const text = await fetch(`${this.#baseUrl}/metrics`)
      .then((response) => response.text())
      // A service that does not answer is reported by those who use it.
      .catch(() => '');
    const value = (name: string) => Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
    const sample = {
      heap: value('nodejs_heap_size_used_bytes'),
      rss: value('process_resident_memory_bytes'),
      handles: value('nodejs_active_resources_total'),
    };
    if (!Number.isNaN(sample.heap)) this.#samples.push(sample);
  }

  /**
   * Whether the least heap of the last third is about that of the second one. The first third is left out: caches fill. Between two
   * collections the heap grows in any case, so only its floor counts.
   */
  isFlat(): boolean {
    const [, middle, last] = this.#thirds();
    if (middle === undefined || last === undefined) return true;
    return last <= Math.max(middle * MAY_RISE.factor, middle + MAY_RISE.bytes);
  }

  text(): string {
    const last = this.#samples.at(-1);
    if (last === undefined) return 'memory not known yet';
    const floors = this.#thirds().map((floor) => Math.round(floor / MB));
    return `heap ${Math.round(last.heap / MB)} MB (least by thirds ${floors.join(', ')}), RSS ${Math.round(last.rss / MB)} MB, ${last.handles} handles`;
  }

  #thirds(): number[] {
    const size = Math.floor(this.#samples.length / 3);
    if (size === 0) return [];
    return [0, 1, 2].map((third) =>
      Math.min(...this.#samples.slice(third * size, third === 2 ? undefined : (third + 1) * size).map(({ heap }) => heap)),
    );
  }
}
