import Database from 'better-sqlite3';

/** Copies the only thread of a checkpoint file, so that thousands need not be run one by one. The file must not be open elsewhere. */
export function copyThread(file: string, { copies }: { copies: number }): void {
  const database = new Database(file);
  try {
    const from = database.prepare('select thread_id from checkpoints limit 1').pluck().get();
    if (typeof from !== 'string') throw new Error(`${file} holds no thread.`);
    const tables = database.prepare("select name from sqlite_master where type = 'table'").pluck().all().map(String);
    const copyAll = database.transaction(() => {
      for (const table of tables) {
        const columns = database.prepare(`select name from pragma_table_info('${table}')`).pluck().all().map(String);
        if (!columns.includes('thread_id')) continue;
        const others = columns.filter((name) => name !== 'thread_id').join(', ');
        const copy = database.prepare(`insert into ${table} (thread_id, ${others}) select ?, ${others} from ${table} where thread_id = ?`);
        for (let number = 1; number <= copies; number++) copy.run(`copy-${number}`, from);
      }
    });
    copyAll();
  } finally {
    database.close();
  }
}
