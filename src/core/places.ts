export interface PlacesOptions {
  /** How many may be in at once, over all origins. */
  readonly total: number;
  /** How many of one origin may be in at once; without it only `total` counts. */
  readonly perOrigin?: number;
}

export interface PlaceRequest {
  readonly origin: string;
  /** Higher goes first; equal priorities go in the order in which they asked. Default 0. */
  readonly priority?: number;
  readonly signal?: AbortSignal;
}

/** The right to be in. Leaving twice is harmless, so that an owner may give its place up early. */
export interface Place {
  leave(): void;
}

interface Waiting {
  readonly origin: string;
  readonly priority: number;
  readonly enter: (place: Place) => void;
}

/**
 * Bounds how much happens at once, in all and per origin (CONTRACT.md 3.3). An origin that is full does not hold up the
 * others: the first waiting one that fits is let in.
 */
export class Places {
  readonly #total: number;
  readonly #perOrigin: number;
  readonly #inside = new Map<string, number>();
  #count = 0;
  #waiting: Waiting[] = [];

  constructor(options: PlacesOptions) {
    this.#total = options.total;
    this.#perOrigin = options.perOrigin ?? options.total;
  }

  /** How many are in now. */
  get taken(): number {
    return this.#count;
  }

  /** Waits for a place. Rejects with the signal's reason when the signal is aborted first. */
  take(request: PlaceRequest): Promise<Place> {
    const { origin, priority = 0, signal } = request;
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
        reject(signal?.reason);
      };
      const waiting: Waiting = {
        origin,
        priority,
        enter: (place) => {
          signal?.removeEventListener('abort', giveUp);
          resolve(place);
        },
      };
      signal?.addEventListener('abort', giveUp, { once: true });
      const before = this.#waiting.findIndex((other) => other.priority < priority);
      this.#waiting.splice(before === -1 ? this.#waiting.length : before, 0, waiting);
      this.#admit();
    });
  }

  #admit(): void {
    while (this.#count < this.#total) {
      const index = this.#waiting.findIndex((waiting) => (this.#inside.get(waiting.origin) ?? 0) < this.#perOrigin);
      const [next] = index === -1 ? [] : this.#waiting.splice(index, 1);
      if (next === undefined) return;
      this.#count += 1;
      this.#inside.set(next.origin, (this.#inside.get(next.origin) ?? 0) + 1);
      next.enter(this.#placeAt(next.origin));
    }
  }

  #placeAt(origin: string): Place {
    let inside = true;
    return {
      leave: () => {
        if (!inside) return;
        inside = false;
        this.#count -= 1;
        const left = (this.#inside.get(origin) ?? 1) - 1;
        if (left > 0) this.#inside.set(origin, left);
        else this.#inside.delete(origin);
        this.#admit();
      },
    };
  }
}
