import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Database } from 'better-sqlite3';
import { StoreFailure } from '../core/facts.js';
import { firstCheckpointIdAt } from './checkpoint-id.js';
import { loadDriver, StoreUnusable } from './driver.js';
import { codeOf } from './error-code.js';
import { guardSaver } from './guarded-saver.js';
import { migrate, type Sql } from './sql.js';
import { SqlFacts } from './sql-facts.js';
import type { Store, StoreOptions } from './store.js';
import { type SweptThreads, sweepThreads } from './thread-sweep.js';

/** How long the start waits for another process to let the file go, as it does in a restart. */
const BUSY_MS = 2_000;

/** Keeps everything in one file, which this process has to itself. Rejects with a {@link StoreUnusable} that names the file or the package. */
export async function openSqliteStore(path: string, options: StoreOptions): Promise<Store> {
  const { clock, logger, localLocks, threadDays = 0, maxPages } = options;
  const { default: BetterSqlite } = await loadDriver({ store: 'sqlite', name: 'better-sqlite3', load: () => import('better-sqlite3') });
  const { SqliteSaver } = await loadDriver({
    store: 'sqlite',
    name: '@langchain/langgraph-checkpoint-sqlite',
    load: () => import('@langchain/langgraph-checkpoint-sqlite'),
  });
  const database = open(path, (file) => new BetterSqlite(file, { timeout: BUSY_MS }));
  const sql = sqlOf(database);
  const saver = new SqliteSaver(database);
  try {
    // Whoever reads or writes a file in this mode keeps its lock: two processes would run the same thread at once without knowing of each other.
    database.pragma('locking_mode = EXCLUSIVE');
    database.exec('BEGIN EXCLUSIVE; COMMIT');
    if (maxPages !== undefined) database.pragma(`max_page_count = ${maxPages}`);
    await saver.getTuple({ configurable: { thread_id: '' } });
    await migrate(sql, 'sqlite');
  } catch (error) {
    database.close();
    throw unusable(path, error);
  }
  guardSaver(saver, sqliteFailure);
  const threads: SweptThreads = {
    idle: async (before, limit) => {
      const rows = await sql.rows('SELECT thread_id FROM checkpoints GROUP BY thread_id HAVING MAX(checkpoint_id) < $1 LIMIT $2', [
        firstCheckpointIdAt(before),
        limit,
      ]);
      return rows.map((row) => String(row.thread_id));
    },
    isIdle: async (threadId, before) => {
      const rows = await sql.rows('SELECT 1 FROM checkpoints WHERE thread_id = $1 AND checkpoint_id >= $2 LIMIT 1', [
        threadId,
        firstCheckpointIdAt(before),
      ]);
      return rows.length === 0;
    },
    deleteThread: (threadId) => saver.deleteThread(threadId),
  };
  const stopSweep = sweepThreads({ threads, locks: localLocks, threadDays, clock, logger });
  return {
    saver,
    facts: new SqlFacts(sql),
    locks: localLocks,
    link: undefined,
    check: async () => {
      await sql.rows('SELECT 1 FROM checkpoints LIMIT 1');
    },
    close: async () => {
      stopSweep();
      database.close();
    },
  };
}

function open(path: string, openFile: (path: string) => Database): Database {
  try {
    mkdirSync(dirname(path), { recursive: true });
    return openFile(path);
  } catch (error) {
    throw unusable(path, error);
  }
}

function unusable(path: string, error: unknown): StoreUnusable {
  const code = codeOf(error);
  if (code.startsWith('SQLITE_BUSY'))
    return new StoreUnusable(`another process uses the file ${path}. SQLite serves one process only.`, error);
  if (code === 'SQLITE_NOTADB') return new StoreUnusable(`the file ${path} is no SQLite database.`, error);
  if (code === '' && /bindings/.test(String(error))) {
    return new StoreUnusable(
      'the package better-sqlite3 has no compiled part here. Install it again with its install script allowed.',
      error,
    );
  }
  return new StoreUnusable(`the file ${path} cannot be opened (${code || 'unknown error'}).`, error);
}

/** Statements are prepared once each; all parameters are numbered. */
function sqlOf(database: Database): Sql {
  const prepared = new Map<string, ReturnType<Database['prepare']>>();
  return {
    async rows(text, parameters = []) {
      try {
        const statement = prepared.get(text) ?? database.prepare(text);
        prepared.set(text, statement);
        const bound = Object.fromEntries(parameters.map((value, index) => [String(index + 1), value]));
        const args = parameters.length === 0 ? [] : [bound];
        if (statement.reader) return statement.all(...args) as Record<string, unknown>[];
        statement.run(...args);
        return [];
      } catch (error) {
        throw sqliteFailure(error);
      }
    },
  };
}

function sqliteFailure(error: unknown): StoreFailure {
  const code = codeOf(error);
  if (code === 'SQLITE_FULL') return new StoreFailure('store_full', 'The disk of the SQLite store is full.', error);
  const unavailable = /^SQLITE_(BUSY|CANTOPEN|IOERR|LOCKED|NOTADB|READONLY|CORRUPT|PERM|AUTH)/.test(code) || isClosed(error);
  if (unavailable) return new StoreFailure('store_unavailable', `The SQLite store cannot be used (${code || 'closed'}).`, error);
  return new StoreFailure('store_failed', `The SQLite store failed (${code || 'unknown error'}).`, error);
}

function isClosed(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'message' in error && /connection is not open/.test(String(error.message));
}
