import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { firstCheckpointIdAt } from './checkpoint-id.js';
import { loadDriver, StoreUnusable } from './driver.js';
import { codeOf } from './error-code.js';
import { guardSaver } from './guarded-saver.js';
import { postgresFailure } from './postgres-failure.js';
import { CHANNEL, PostgresReplicaLink } from './postgres-link.js';
import { PostgresRunLocks } from './postgres-locks.js';
import { PostgresSession } from './postgres-session.js';
import { migrate, type Sql } from './sql.js';
import { SqlFacts } from './sql-facts.js';
import type { Store, StoreOptions } from './store.js';
import { type SweptThreads, sweepThreads } from './thread-sweep.js';

/** How long a connection or an answer is waited for. A run waits no longer than this for a store that hangs. */
const CONNECT_MS = 5_000;
const QUERY_MS = 10_000;
/** How long a run waits before its stream begins. */
const CHECK_MS = 2_000;
const POOL_SIZE = 20;
/** Replicas that start together set up the tables one after the other. */
const SETUP_LOCK = 4_812_371_905;

/** Shares threads, locks, facts and hints over a PostgreSQL. Rejects with a {@link StoreUnusable} that names the host or the package. */
export async function openPostgresStore(url: string, options: StoreOptions): Promise<Store> {
  const { clock, logger, instance, localLocks, threadDays = 0 } = options;
  const { default: pg } = await loadDriver({ store: 'postgres', name: 'pg', load: () => import('pg') });
  const { PostgresSaver } = await loadDriver({
    store: 'postgres',
    name: '@langchain/langgraph-checkpoint-postgres',
    load: () => import('@langchain/langgraph-checkpoint-postgres'),
  });
  const applicationName = `mcp-agent-api ${randomUUID()}`;
  const settings = {
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
    keepAlive: true,
    application_name: applicationName,
  };
  const pool = new pg.Pool({ ...settings, max: POOL_SIZE });
  // An idle connection that the server ends says so here; the pool makes another one. Without a listener it would end the process.
  pool.on('error', (error) => logger.debug('idle store connection lost', { code: codeOf(error) }));
  // A connection that is in use tells its query too, which is where the loss is dealt with.
  pool.on('connect', (client) => client.on('error', () => undefined));
  const sql = sqlOf(pool);
  const saver = new PostgresSaver(pool);

  const session = new PostgresSession(
    { createClient: () => new pg.Client({ ...settings, query_timeout: CONNECT_MS }), clock, logger },
    {
      onOpen: async (connection, previousPid) => {
        if (previousPid !== undefined) await endLostBackend(connection, { pid: previousPid, applicationName });
        await connection.rows(`LISTEN ${CHANNEL}`);
        await locks.reclaim(connection);
      },
      onNotification: (payload) => link.receive(payload),
      onReopened: () => link.reopened(),
    },
  );
  const locks = new PostgresRunLocks({ sql: session, local: localLocks, clock, logger });
  const link = new PostgresReplicaLink({ sql: session, clock, logger, instance });
  try {
    await setUp(pool, () => saver.setup());
    await session.start();
  } catch (error) {
    await session.close();
    await pool.end();
    throw unusable(url, error);
  }
  guardSaver(saver, postgresFailure);
  const threads = threadsOf(sql, (threadId) => saver.deleteThread(threadId));
  const stopSweep = sweepThreads({ threads, locks, threadDays, clock, logger });
  return {
    saver,
    facts: new SqlFacts(sql),
    locks,
    link,
    check: () => withinMs(CHECK_MS, sql.rows('SELECT 1')),
    async close() {
      stopSweep();
      await link.close();
      await session.close();
      await pool.end();
    },
  };
}

/** Where a connection broke without the server's noticing, the server would keep its locks for a long time. */
async function endLostBackend(sql: Sql, { pid, applicationName }: { pid: number; applicationName: string }): Promise<void> {
  await sql.rows('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = CAST($1 AS INTEGER) AND application_name = $2', [
    pid,
    applicationName,
  ]);
}

async function setUp(pool: Pool, setUpSaver: () => Promise<void>): Promise<void> {
  const client = await pool.connect();
  try {
    const sql: Sql = { rows: async (text, parameters = []) => (await client.query<Record<string, unknown>>(text, [...parameters])).rows };
    await sql.rows(`SELECT pg_advisory_lock(${SETUP_LOCK})`);
    await setUpSaver();
    await migrate(sql, 'postgres');
    await sql.rows(`SELECT pg_advisory_unlock(${SETUP_LOCK})`);
    client.release();
  } catch (error) {
    // The connection goes, and the lock with it.
    client.release(true);
    throw error;
  }
}

function sqlOf(pool: Pool): Sql {
  return {
    async rows(text, parameters = []) {
      try {
        return (await pool.query<Record<string, unknown>>(text, [...parameters])).rows;
      } catch (error) {
        throw postgresFailure(error);
      }
    },
  };
}

function threadsOf(sql: Sql, deleteThread: (threadId: string) => Promise<void>): SweptThreads {
  return {
    idle: async (before, limit) => {
      const rows = await sql.rows(
        'SELECT thread_id FROM checkpoints GROUP BY thread_id HAVING MAX(checkpoint_id COLLATE "C") < $1 COLLATE "C" LIMIT CAST($2 AS BIGINT)',
        [firstCheckpointIdAt(before), limit],
      );
      return rows.map((row) => String(row.thread_id));
    },
    isIdle: async (threadId, before) => {
      const rows = await sql.rows(
        'SELECT 1 FROM checkpoints WHERE thread_id = $1 AND checkpoint_id COLLATE "C" >= $2 COLLATE "C" LIMIT 1',
        [threadId, firstCheckpointIdAt(before)],
      );
      return rows.length === 0;
    },
    deleteThread,
  };
}

async function withinMs(limitMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(postgresFailure(new Error('no answer in time'))), limitMs);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    // An answer that comes later has nobody who waits for it.
    work.catch(() => undefined);
  }
}

/** Names host and port, never the user or the password. */
function unusable(url: string, error: unknown): StoreUnusable {
  const { hostname, port, pathname } = new URL(url);
  const where = `${hostname || 'localhost'}:${port || '5432'}${pathname}`;
  const code = codeOf(error);
  if (/^28/.test(code)) return new StoreUnusable(`the PostgreSQL at ${where} refuses the user or the password (${code}).`, error);
  return new StoreUnusable(`the PostgreSQL at ${where} cannot be used (${code || 'no answer'}).`, error);
}
