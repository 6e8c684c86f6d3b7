import type { Clock } from '../core/ports.js';

/** How many beats may be missed before the stream counts as dead (CONTRACT.md 4.6). */
const MISSED_BEATS = 3;

/** Comments closer together than this are one beat: a server may write several lines at once. */
const MIN_BEAT_MS = 50;

/**
 * Watches the keep-alive comments of one stream. Once three of them came at a regular interval, `onSilence` is called when
 * nothing at all arrives for three intervals. A server that sends none is never taken for dead.
 */
export class BeatWatch {
  readonly #clock: Clock;
  readonly #onSilence: () => void;
  #lastByteAt: number;
  #lastBeatAt: number | undefined;
  #gaps: number[] = [];
  #cancel: (() => void) | undefined;
  #stopped = false;

  constructor(options: { readonly clock: Clock; readonly onSilence: () => void }) {
    this.#clock = options.clock;
    this.#onSilence = options.onSilence;
    this.#lastByteAt = options.clock.now();
  }

  /** Bytes of any kind arrived. */
  bytes(): void {
    this.#lastByteAt = this.#clock.now();
  }

  /** A keep-alive comment arrived. */
  beat(): void {
    const now = this.#clock.now();
    if (this.#lastBeatAt !== undefined) {
      const gap = now - this.#lastBeatAt;
      if (gap < MIN_BEAT_MS) return;
      this.#gaps = [...this.#gaps.slice(-2), gap];
    }
    this.#lastBeatAt = now;
    if (this.#cancel === undefined) this.#arm();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  /** The interval of the beats, undefined while it is not known to be regular. */
  #interval(): number | undefined {
    const [a, b] = this.#gaps.slice(-2);
    if (a === undefined || b === undefined || Math.min(a, b) * 2 < Math.max(a, b)) return undefined;
    return Math.max(...this.#gaps);
  }

  #arm(): void {
    const interval = this.#interval();
    if (this.#stopped || interval === undefined) return;
    const waitMs = this.#lastByteAt + interval * MISSED_BEATS - this.#clock.now();
    this.#cancel = this.#clock.after(Math.max(waitMs, 1), () => {
      this.#cancel = undefined;
      const nowInterval = this.#interval();
      if (nowInterval !== undefined && this.#clock.now() - this.#lastByteAt >= nowInterval * MISSED_BEATS) this.#onSilence();
      else this.#arm();
    });
  }
}
