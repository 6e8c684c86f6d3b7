import type { Client } from 'pg';
import type { Clock, Logger } from '../core/ports.js';
import { codeOf } from './error-code.js';
import { isFromServer, postgresFailure } from './postgres-failure.js';
import type { Row, Sql } from './sql.js';

export interface SessionParts {
  /** Called with each new connection before others may use it. `previousPid` is the server process of the connection that was lost. */
  readonly onOpen: (sql: Sql, previousPid: number | undefined) => Promise<void>;
  readonly onNotification: (payload: string) => void;
  /** A lost connection is open again, and `onOpen` is through. */
  readonly onReopened: () => void;
}

export interface SessionOptions {
  /** Makes a client that is not connected yet. */
  readonly createClient: () => Client;
  readonly clock: Clock;
  readonly logger: Logger;
}

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;

type Connection = { readonly client: Client; queue: Promise<unknown> };

/**
 * One connection that is kept open for what belongs to a connection: advisory locks and `LISTEN`. When it is lost, it is opened again for
 * ever, with back-off.
 */
export class PostgresSession implements Sql {
  readonly #options: SessionOptions;
  readonly #parts: SessionParts;
  #connection: Connection | undefined;
  #lastPid: number | undefined;
  #failures = 0;
  #closed = false;
  #cancelRetry: () => void = () => undefined;

  constructor(options: SessionOptions, parts: SessionParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Opens the first connection. Rejects with what the driver says when it cannot be opened. */
  async start(): Promise<void> {
    await this.#open();
  }

  /** Rejects with a StoreFailure, at once while there is no connection. */
  async rows(text: string, parameters: readonly (string | number | null)[] = []): Promise<readonly Row[]> {
    const connection = this.#connection;
    if (connection === undefined) throw postgresFailure(new Error('There is no connection at present.'));
    return this.#query(connection, text, parameters);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelRetry();
    const connection = this.#connection;
    this.#connection = undefined;
    // A connection that cannot be closed in order is gone already.
    await connection?.client.end().catch(() => undefined);
  }

  async #query(connection: Connection, text: string, parameters: readonly (string | number | null)[]): Promise<readonly Row[]> {
    const before = connection.queue;
    const answer = (async () => {
      await before;
      const { rows } = await connection.client.query<Record<string, unknown>>(text, [...parameters]);
      return rows;
    })();
    // The next query waits for this one, whatever its outcome is.
    connection.queue = answer.catch(() => undefined);
    try {
      return await answer;
    } catch (error) {
      // A statement that timed out still occupies the connection; what hangs on it, such as locks, is made anew on another one.
      if (!isFromServer(error)) this.#lose(connection, error);
      throw postgresFailure(error);
    }
  }

  async #open(): Promise<void> {
    const client = this.#options.createClient();
    const connection: Connection = { client, queue: Promise.resolve() };
    client.on('error', (error) => this.#lose(connection, error));
    client.on('end', () => this.#lose(connection, new Error('The server closed the connection.')));
    client.on('notification', ({ payload }) => this.#parts.onNotification(payload ?? ''));
    try {
      await client.connect();
      const [row] = (await client.query<Record<string, unknown>>('SELECT pg_backend_pid() AS pid')).rows;
      const previousPid = this.#lastPid;
      const sql: Sql = { rows: (text, parameters = []) => this.#query(connection, text, parameters) };
      await this.#parts.onOpen(sql, previousPid);
      if (this.#closed) throw new Error('Closed while it was opened.');
      this.#lastPid = Number(row?.pid);
      this.#connection = connection;
    } catch (error) {
      discard(client);
      throw error;
    }
  }

  #lose(connection: Connection, error: unknown): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    discard(connection.client);
    if (this.#closed) return;
    this.#options.logger.warn('store connection lost', { code: codeOf(error) || 'closed' });
    this.#retry();
  }

  #retry(): void {
    const { clock, logger } = this.#options;
    const delayMs = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(this.#failures, 10)) * (0.5 + clock.random() / 2);
    this.#failures += 1;
    this.#cancelRetry = clock.after(delayMs, () => {
      this.#open().then(
        () => {
          this.#failures = 0;
          logger.info('store connection open again');
          this.#parts.onReopened();
        },
        () => {
          // The loss is logged; until the store is back, only the next attempt matters.
          if (!this.#closed) this.#retry();
        },
      );
    });
  }
}

/** Ends a connection that is of no use any more, without waiting for the other side. */
function discard(client: Client): void {
  client.end().catch(() => undefined);
  const { stream } = (client as unknown as { connection: { stream: { destroy(): void } } }).connection;
  stream.destroy();
}
