import type { Clock } from '../core/ports.js';

/** The right to run a turn on one thread. */
export interface RunLock {
  /** The run was cancelled and is about to end: from now on another one may wait for it. */
  markCancelling(): void;
  /** Releasing twice is harmless. */
  release(): void;
}

interface Holder {
  cancelling: boolean;
  readonly waiters: Set<() => void>;
}

/** How long a run waits for one that is being cancelled (CONTRACT.md 7.4). */
const CANCELLING_WAIT_MS = 2000;

/** One run at a time on a thread, within this process. */
export class RunLocks {
  readonly #clock: Clock;
  readonly #holders = new Map<string, Holder>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isHeld(threadId: string): boolean {
    return this.#holders.has(threadId);
  }

  /** Answers undefined when the thread is busy; where its run is being cancelled, only after two seconds (CONTRACT.md 7.4). */
  async take(threadId: string): Promise<RunLock | undefined> {
    const deadline = this.#clock.now() + CANCELLING_WAIT_MS;
    for (;;) {
      const holder = this.#holders.get(threadId);
      if (!holder) return this.#hold(threadId);
      const remainingMs = deadline - this.#clock.now();
      if (!holder.cancelling || remainingMs <= 0) return undefined;
      await this.#released(holder, remainingMs);
    }
  }

  #hold(threadId: string): RunLock {
    const holder: Holder = { cancelling: false, waiters: new Set() };
    this.#holders.set(threadId, holder);
    return {
      markCancelling: () => {
        holder.cancelling = true;
      },
      release: () => {
        if (this.#holders.get(threadId) !== holder) return;
        this.#holders.delete(threadId);
        for (const wake of holder.waiters) wake();
      },
    };
  }

  /** Resolves when the holder releases, or after the time is over. */
  #released(holder: Holder, remainingMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        cancelTimer();
        holder.waiters.delete(wake);
        resolve();
      };
      const cancelTimer = this.#clock.after(remainingMs, wake);
      holder.waiters.add(wake);
    });
  }
}
