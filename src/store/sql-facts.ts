import { DECISIONS_KEPT, type Decision, type Definitions, type Facts, type GenerationRecord, HISTORY_LIMITS } from '../core/facts.js';
import type { Sql } from './sql.js';

type Kept = 'mcp_agent_generations' | 'mcp_agent_decisions';

/** Facts in the tables of sql.ts, the same for SQLite and PostgreSQL. */
export class SqlFacts implements Facts {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async nextGeneration(above: number): Promise<number> {
    const [row] = await this.#raise(above, 1);
    return Number(row?.value);
  }

  async saveGeneration(record: GenerationRecord): Promise<void> {
    const text = JSON.stringify(record);
    // A number that was given while the store could not be reached is given to nobody else from now on.
    await this.#raise(record.number, 0);
    await this.#sql.rows(
      // A record whose writing was cut off before the answer came is written again, and is there once all the same.
      `INSERT INTO mcp_agent_generations (number, bytes, record) SELECT CAST($1 AS BIGINT), CAST($2 AS BIGINT), CAST($3 AS TEXT)
       WHERE NOT EXISTS (SELECT 1 FROM mcp_agent_generations WHERE number = CAST($1 AS BIGINT) AND record = CAST($3 AS TEXT))`,
      [record.number, Buffer.byteLength(text), text],
    );
    await this.#prune('mcp_agent_generations', HISTORY_LIMITS.records);
  }

  async generations(limit: number): Promise<readonly GenerationRecord[]> {
    const rows = await this.#sql.rows('SELECT record FROM mcp_agent_generations ORDER BY number DESC, id DESC LIMIT CAST($1 AS BIGINT)', [
      limit,
    ]);
    return rows.map(({ record }) => JSON.parse(String(record)) as GenerationRecord);
  }

  async generation(number: number): Promise<GenerationRecord | undefined> {
    const [row] = await this.#sql.rows(
      'SELECT record FROM mcp_agent_generations WHERE number = CAST($1 AS BIGINT) ORDER BY id DESC LIMIT 1',
      [number],
    );
    return row === undefined ? undefined : (JSON.parse(String(row.record)) as GenerationRecord);
  }

  async saveDecision(decision: Decision): Promise<void> {
    const text = JSON.stringify(decision);
    await this.#sql.rows(
      'INSERT INTO mcp_agent_decisions (toolset, bytes, decision) VALUES (CAST($1 AS TEXT), CAST($2 AS BIGINT), CAST($3 AS TEXT))',
      [decision.toolset, Buffer.byteLength(text), text],
    );
    await this.#prune('mcp_agent_decisions', DECISIONS_KEPT);
  }

  async decisions({ toolset, limit }: { readonly toolset?: string; readonly limit: number }): Promise<readonly Decision[]> {
    const where = toolset === undefined ? '' : 'WHERE toolset = CAST($2 AS TEXT)';
    const rows = await this.#sql.rows(
      `SELECT decision FROM mcp_agent_decisions ${where} ORDER BY id DESC LIMIT CAST($1 AS BIGINT)`,
      toolset === undefined ? [limit] : [limit, toolset],
    );
    return rows.map(({ decision }) => JSON.parse(String(decision)) as Decision);
  }

  async saveDefinitions(definitions: Definitions): Promise<void> {
    await this.#sql.rows(
      `INSERT INTO mcp_agent_definitions (toolset, definitions) VALUES (CAST($1 AS TEXT), CAST($2 AS TEXT))
       ON CONFLICT (toolset) DO UPDATE SET definitions = excluded.definitions`,
      [definitions.toolset, JSON.stringify(definitions)],
    );
  }

  async definitions(toolset: string): Promise<Definitions | undefined> {
    const [row] = await this.#sql.rows('SELECT definitions FROM mcp_agent_definitions WHERE toolset = CAST($1 AS TEXT)', [toolset]);
    return row === undefined ? undefined : (JSON.parse(String(row.definitions)) as Definitions);
  }

  /** Raises the counter to at least `floor` and then by `step`, in one statement: two processes never get the same number. */
  #raise(floor: number, step: 0 | 1) {
    return this.#sql.rows(
      `INSERT INTO mcp_agent_counters (name, value) VALUES ('generation', CAST($1 AS BIGINT) + CAST($2 AS BIGINT))
       ON CONFLICT (name) DO UPDATE SET value =
         CASE WHEN mcp_agent_counters.value > CAST($1 AS BIGINT) THEN mcp_agent_counters.value ELSE CAST($1 AS BIGINT) END + CAST($2 AS BIGINT)
       RETURNING value`,
      [floor, step],
    );
  }

  /** Deletes the oldest rows: those beyond `most`, and those that make all together too large. The newest always stays. */
  async #prune(table: Kept, most: number): Promise<void> {
    await this.#sql.rows(
      `DELETE FROM ${table} WHERE id IN (SELECT id FROM (
         SELECT id, ROW_NUMBER() OVER (ORDER BY id DESC) AS place, SUM(bytes) OVER (ORDER BY id DESC) AS total FROM ${table}
       ) AS newest WHERE place > CAST($1 AS BIGINT) OR (total > CAST($2 AS BIGINT) AND place > 1))`,
      [most, HISTORY_LIMITS.bytes],
    );
  }
}
