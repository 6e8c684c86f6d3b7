/** A row as the database returns it. */
export type Row = Readonly<Record<string, unknown>>;

/** What facts need of a database. Parameters are `$1`, `$2`, … in both kinds. Rejects with a StoreFailure. */
export interface Sql {
  rows(text: string, parameters?: readonly (string | number | null)[]): Promise<readonly Row[]>;
}

export type Dialect = 'sqlite' | 'postgres';

/**
 * The tables of this service, in the order in which versions added them; the tables of the checkpoint savers are their own. A version that was
 * released is never changed: a change is a new entry. JSON is kept as text, because PostgreSQL's own JSON refuses some of what a
 * toolset may send.
 */
export function migrationsFor(dialect: Dialect): readonly (readonly string[])[] {
  const id = dialect === 'sqlite' ? 'INTEGER PRIMARY KEY AUTOINCREMENT' : 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY';
  const instant = dialect === 'sqlite' ? 'TEXT' : 'TIMESTAMPTZ';
  return [
    [
      'CREATE TABLE mcp_agent_counters (name TEXT PRIMARY KEY, value BIGINT NOT NULL)',
      `CREATE TABLE mcp_agent_generations (id ${id}, number BIGINT NOT NULL, bytes BIGINT NOT NULL, record TEXT NOT NULL)`,
      'CREATE INDEX mcp_agent_generations_number ON mcp_agent_generations (number)',
      `CREATE TABLE mcp_agent_decisions (id ${id}, toolset TEXT NOT NULL, bytes BIGINT NOT NULL, decision TEXT NOT NULL)`,
      'CREATE TABLE mcp_agent_definitions (toolset TEXT PRIMARY KEY, definitions TEXT NOT NULL)',
      `CREATE TABLE mcp_agent_replicas (id TEXT PRIMARY KEY, instance TEXT NOT NULL, generation BIGINT NOT NULL, fingerprint TEXT, at ${instant} NOT NULL)`,
    ],
  ];
}

/** Brings the tables up to date. The caller makes sure that only one process does so at a time. */
export async function migrate(sql: Sql, dialect: Dialect): Promise<void> {
  await sql.rows('CREATE TABLE IF NOT EXISTS mcp_agent_schema (version INTEGER PRIMARY KEY)');
  const [row] = await sql.rows('SELECT MAX(version) AS version FROM mcp_agent_schema');
  const migrations = migrationsFor(dialect);
  for (let version = Number(row?.version ?? 0); version < migrations.length; version += 1) {
    await sql.rows('BEGIN');
    try {
      for (const statement of migrations[version] ?? []) await sql.rows(statement);
      await sql.rows('INSERT INTO mcp_agent_schema (version) VALUES (CAST($1 AS INTEGER))', [version + 1]);
      await sql.rows('COMMIT');
    } catch (error) {
      await sql.rows('ROLLBACK');
      throw error;
    }
  }
}
