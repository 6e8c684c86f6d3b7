/** The right to run a turn on one thread. */
export interface RunLock {
  /** Aborts when the right was lost to another process (CONTRACT.md 16.2). */
  readonly lost: AbortSignal;
  /** The run was cancelled and is about to end: from now on another one may wait for it. */
  markCancelling(): void;
  /** Releasing twice is harmless. */
  release(): void;
}

/** One run at a time on a thread (CONTRACT.md 7.4), within this process or over all replicas that share a store. */
export interface RunLocks {
  /**
   * Answers undefined when the thread is busy; where its run is being cancelled, only after two seconds. Rejects with a StoreFailure
   * when a store has to be asked and cannot be reached.
   */
  take(threadId: string): Promise<RunLock | undefined>;
  /** Whether a run is going on, as far as it can be known: a store that cannot be reached is not waited for. */
  isHeld(threadId: string): Promise<boolean>;
}

/** How long a run waits for one that is being cancelled (CONTRACT.md 7.4). */
export const CANCELLING_WAIT_MS = 2_000;
