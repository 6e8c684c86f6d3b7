import type { Clock } from '../core/ports.js';
import { systemClock } from '../system-clock.js';

/** Why a run was ended from outside. It is the reason of the run's abort signal. */
export class RunEnded extends Error {
  readonly code: 'client_gone' | 'run_timeout' | 'shutting_down' | 'lock_lost';

  constructor(code: RunEnded['code'], message: string) {
    super(message);
    this.name = 'RunEnded';
    this.code = code;
  }
}

/** A run from its admission to its last byte. */
export interface OpenRun {
  readonly signal: AbortSignal;
  end(reason: RunEnded): void;
  /** The run is over. Closing twice is harmless. */
  close(): void;
}

export type Admission = { readonly kind: 'admitted'; readonly run: OpenRun } | { readonly kind: 'full' } | { readonly kind: 'draining' };

/** How long runs that were told to end get to say so to their clients. */
const FAREWELL_MS = 2000;

/** The runs that stream now: how many there may be (CONTRACT.md 7.10), and how they end when the service stops (11.3). */
export class OpenRuns {
  readonly #clock: Clock;
  readonly #maxRuns: number;
  readonly #runs = new Set<OpenRun>();
  readonly #whenDraining: (() => void)[] = [];
  readonly #whenIdle = new Set<() => void>();
  #phase: 'open' | 'draining' = 'open';

  constructor({ clock = systemClock, maxRuns = 100 }: { clock?: Clock; maxRuns?: number } = {}) {
    this.#clock = clock;
    this.#maxRuns = maxRuns;
  }

  get size(): number {
    return this.#runs.size;
  }

  get draining(): boolean {
    return this.#phase === 'draining';
  }

  admit(): Admission {
    if (this.#phase === 'draining') return { kind: 'draining' };
    if (this.#runs.size >= this.#maxRuns) return { kind: 'full' };
    const controller = new AbortController();
    const run: OpenRun = {
      signal: controller.signal,
      end: (reason) => controller.abort(reason),
      close: () => {
        if (!this.#runs.delete(run) || this.#runs.size > 0) return;
        for (const wake of this.#whenIdle) wake();
      },
    };
    this.#runs.add(run);
    return { kind: 'admitted', run };
  }

  /** Calls `listener` once, when draining begins: whatever streams without end has to end then. */
  onDrain(listener: () => void): void {
    this.#whenDraining.push(listener);
  }

  /** From now on no run is admitted, and readiness answers 503. */
  beginDrain(): void {
    this.#phase = 'draining';
    for (const listener of this.#whenDraining.splice(0)) listener();
  }

  /** Resolves when no run is open. After the deadline the remaining ones end with `shutting_down` and get two more seconds to tell their clients. */
  async idle(deadlineMs: number): Promise<void> {
    if (await this.#emptyWithin(deadlineMs)) return;
    for (const run of this.#runs) run.end(new RunEnded('shutting_down', 'The service is shutting down.'));
    await this.#emptyWithin(FAREWELL_MS);
  }

  #emptyWithin(limitMs: number): Promise<boolean> {
    if (this.#runs.size === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const wake = () => {
        cancelTimer();
        this.#whenIdle.delete(wake);
        resolve(this.#runs.size === 0);
      };
      const cancelTimer = this.#clock.after(limitMs, wake);
      this.#whenIdle.add(wake);
    });
  }
}
