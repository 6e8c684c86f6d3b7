import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock, Logger } from '../core/ports.js';
import { CANCELLING_WAIT_MS, type RunLock, type RunLocks } from '../core/run-lock.js';
import type { Sql } from './sql.js';

interface Held {
  readonly threadId: string;
  readonly lost: AbortController;
  cancelling: boolean;
}

/** How often a lock is asked for again while its run is being cancelled, or while a lost connection may still hold it. */
const AGAIN_MS = 50;
/** How long a lost connection of this process may hold a lock that is claimed again on the new one. */
const RECLAIM_MS = 2_000;

const TRY_LOCK = 'SELECT pg_try_advisory_lock(CAST($1 AS BIGINT)) AS taken';
const UNLOCK = 'SELECT pg_advisory_unlock(CAST($1 AS BIGINT))';
const LOOK = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (CAST(classid AS BIGINT) << 32 | CAST(objid AS BIGINT)) = CAST($1 AS BIGINT) LIMIT 1`;

/**
 * One run at a time on a thread over all replicas (CONTRACT.md 16.2): PostgreSQL's session advisory locks on the one connection that
 * this process keeps for them. That connection may take a lock of its own twice, so the lock within the process comes first. A second
 * lock of the thread says that its run is being cancelled.
 */
export class PostgresRunLocks implements RunLocks {
  readonly #sql: Sql;
  readonly #local: RunLocks;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #held = new Set<Held>();

  constructor({ sql, local, clock, logger }: { sql: Sql; local: RunLocks; clock: Clock; logger: Logger }) {
    this.#sql = sql;
    this.#local = local;
    this.#clock = clock;
    this.#logger = logger;
  }

  async take(threadId: string): Promise<RunLock | undefined> {
    const local = await this.#local.take(threadId);
    if (local === undefined) return undefined;
    const held: Held = { threadId, lost: new AbortController(), cancelling: false };
    try {
      if (!(await this.#claim(threadId))) {
        local.release();
        return undefined;
      }
    } catch (error) {
      local.release();
      throw error;
    }
    this.#held.add(held);
    return {
      lost: held.lost.signal,
      markCancelling: () => {
        local.markCancelling();
        if (held.cancelling || !this.#held.has(held)) return;
        held.cancelling = true;
        this.#tell(TRY_LOCK, cancelKey(threadId));
      },
      release: () => {
        if (!this.#held.delete(held)) return;
        // Queries run in their order, so whoever takes the local lock next asks for this one after it was given back.
        this.#tell(UNLOCK, runKey(threadId));
        if (held.cancelling) this.#tell(UNLOCK, cancelKey(threadId));
        local.release();
      },
    };
  }

  async isHeld(threadId: string): Promise<boolean> {
    if (await this.#local.isHeld(threadId)) return true;
    try {
      return (await this.#sql.rows(LOOK, [runKey(threadId)])).length > 0;
    } catch {
      // Without the store nothing is known of other replicas, and the caller only wants to show it.
      return false;
    }
  }

  /** Claims on a new connection what the lost one held. A run whose lock cannot be had is told so. */
  async reclaim(sql: Sql): Promise<void> {
    const deadline = this.#clock.now() + RECLAIM_MS;
    for (const held of [...this.#held]) {
      let taken = await tryLock(sql, runKey(held.threadId));
      while (!taken && this.#clock.now() < deadline) {
        await sleep(AGAIN_MS);
        taken = await tryLock(sql, runKey(held.threadId));
      }
      if (taken && this.#held.has(held)) {
        if (held.cancelling) await tryLock(sql, cancelKey(held.threadId));
      } else if (taken) {
        // The run ended meanwhile.
        await sql.rows(UNLOCK, [runKey(held.threadId)]);
      } else {
        this.#held.delete(held);
        this.#logger.warn('run lock lost', {});
        held.lost.abort();
      }
    }
  }

  async #claim(threadId: string): Promise<boolean> {
    const deadline = this.#clock.now() + CANCELLING_WAIT_MS;
    for (;;) {
      if (await tryLock(this.#sql, runKey(threadId))) return true;
      const cancelling = (await this.#sql.rows(LOOK, [cancelKey(threadId)])).length > 0;
      // Between the two questions the run may have ended: then neither lock is there, and the first question is asked once more.
      if (!cancelling) return tryLock(this.#sql, runKey(threadId));
      if (this.#clock.now() >= deadline) return false;
      await sleep(AGAIN_MS);
    }
  }

  #tell(text: string, key: string): void {
    this.#sql.rows(text, [key]).catch(() => {
      // A connection on which this failed is given up, and its locks with it.
    });
  }
}

async function tryLock(sql: Sql, key: string): Promise<boolean> {
  const [row] = await sql.rows(TRY_LOCK, [key]);
  return row?.taken === true;
}

function runKey(threadId: string): string {
  return lockKey('run', threadId);
}

function cancelKey(threadId: string): string {
  return lockKey('cancel', threadId);
}

/** 64 bits of a hash, as PostgreSQL writes them: with a sign. */
function lockKey(purpose: string, threadId: string): string {
  return createHash('sha256').update(`mcp-agent-api ${purpose} ${threadId}`).digest().readBigInt64BE(0).toString();
}
