import type { Clock } from '../core/ports.js';
import { CANCELLING_WAIT_MS, type RunLock, type RunLocks } from '../core/run-lock.js';

interface Holder {
  cancelling: boolean;
  readonly waiters: Set<() => void>;
}

/** Within one process no lock can be lost to another one. */
const NEVER_LOST = new AbortController().signal;

/** One run at a time on a thread, within this process. */
export class LocalRunLocks implements RunLocks {
  readonly #clock: Clock;
  readonly #holders = new Map<string, Holder>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async isHeld(threadId: string): Promise<boolean> {
    return this.#holders.has(threadId);
  }

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
      lost: NEVER_LOST,
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
