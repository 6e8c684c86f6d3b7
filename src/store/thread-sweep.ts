import type { Clock, Logger } from '../core/ports.js';
import type { RunLocks } from '../core/run-lock.js';

/** What a sweep needs of a store. */
export interface SweptThreads {
  /** Ids of threads whose last checkpoint is older than `before`, at most `limit`. */
  idle(before: Date, limit: number): Promise<readonly string[]>;
  /** Whether this thread's last checkpoint is older than `before`. */
  isIdle(threadId: string, before: Date): Promise<boolean>;
  deleteThread(threadId: string): Promise<void>;
}

export interface SweepOptions {
  readonly threads: SweptThreads;
  readonly locks: RunLocks;
  readonly threadDays: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** The first sweep comes soon after the start, but not with it. */
const FIRST_MS = 10_000;
/** So many threads are deleted at once; the rest follows after a pause, so that a sweep never loads a store for long. */
const BATCH = 100;
const PAUSE_MS = 5_000;

/** Deletes threads that have been idle for `threadDays`, hourly, in small batches, and never one that runs. Returns a function that ends it. */
export function sweepThreads({ threads, locks, threadDays, clock, logger }: SweepOptions): () => void {
  if (threadDays === 0) return () => undefined;
  let ended = false;
  let cancel = clock.after(FIRST_MS, () => void sweep());
  const sweep = async (): Promise<void> => {
    let found = 0;
    let deleted = 0;
    try {
      const before = new Date(clock.date().getTime() - threadDays * DAY_MS);
      const idle = await threads.idle(before, BATCH);
      found = idle.length;
      for (const threadId of idle) {
        if (ended) return;
        if (await deleteIfIdle(threadId, before)) deleted += 1;
      }
    } catch (error) {
      // The store cannot be reached now; the next sweep finds the same threads.
      logger.warn('thread sweep failed', { error: error instanceof Error ? error.message : String(error) });
    }
    if (deleted > 0) logger.info('idle threads deleted', { threads: deleted });
    if (!ended)
      cancel = clock.after(found === BATCH && deleted > 0 ? PAUSE_MS : HOUR_MS * (0.9 + 0.2 * clock.random()), () => void sweep());
  };
  const deleteIfIdle = async (threadId: string, before: Date): Promise<boolean> => {
    const lock = await locks.take(threadId);
    if (lock === undefined) return false;
    try {
      // A turn may have come and gone since the thread was found.
      if (!(await threads.isIdle(threadId, before))) return false;
      await threads.deleteThread(threadId);
      return true;
    } finally {
      lock.release();
    }
  };
  return () => {
    ended = true;
    cancel();
  };
}
