/**
 * Lets those who wait go on one after another, with a turn of the event loop between any two. What many sockets brought at once is
 * then worked off in slices, and new requests are accepted in between; without it, whatever became ready in one turn runs in one piece.
 */
export class Turnstile {
  readonly #waiting: (() => void)[] = [];

  /** Resolves when it is the caller's turn, at the earliest in the next turn of the event loop. */
  pass(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(this.#letOneGo);
    });
  }

  readonly #letOneGo = (): void => {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(this.#letOneGo);
  };
}
