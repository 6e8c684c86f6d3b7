import { writeFile } from 'node:fs/promises';
import type { BaseCheckpointSaver } from '@langchain/langgraph';
import { uuid6 } from '@langchain/langgraph-checkpoint';
import { LocalRunLocks } from '../../src/agent/run-lock.js';
import type { GenerationRecord } from '../../src/core/facts.js';
import { ManualClock, settle } from '../support/manual-clock.js';
import { startProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { openTestStore, sqliteLocation } from './open.js';
import { type PostgresServer, startPostgres } from './postgres-server.js';

let postgres: PostgresServer;

beforeAll(async () => {
  postgres = await startPostgres();
}, 60_000);

const KINDS = ['memory', 'sqlite', 'postgres'] as const;
type Kind = (typeof KINDS)[number];

async function locationOf(kind: Kind): Promise<string> {
  if (kind === 'memory') return 'memory';
  return kind === 'sqlite' ? sqliteLocation() : postgres.createDatabase();
}

function record(number: number, extra: Partial<GenerationRecord> = {}): GenerationRecord {
  return {
    number,
    fingerprint: `sha256-${number}`,
    instance: 'one',
    at: '2026-01-01T00:00:00.000Z',
    trigger: 'poll',
    toolsets: [{ name: 'kb', fingerprint: 'sha256-kb', tools: 1 }],
    swapped: ['kb'],
    changes: { added: [], removed: [], changed: ['search'] },
    tools: [],
    omitted: 0,
    ...extra,
  };
}

describe.each(KINDS)('facts in %s', (kind) => {
  test('numbers rise, are unique among concurrent askers, and stay above what the asker has seen', async () => {
    const { facts } = await openTestStore(await locationOf(kind));
    expect(await facts.nextGeneration(0)).toBe(1);
    const numbers = await Promise.all(Array.from({ length: 20 }, () => facts.nextGeneration(0)));
    expect(new Set(numbers).size).toBe(20);
    expect(Math.max(...numbers)).toBe(21);
    expect(await facts.nextGeneration(50)).toBe(51);
    expect(await facts.nextGeneration(3)).toBe(52);
  });

  test('a generation is read back with whole definitions, whatever characters a toolset put into them', async () => {
    const { facts } = await openTestStore(await locationOf(kind));
    const strange = { name: 'search', description: 'nul \u0000, half a pair \ud800, "quotes", ünïcode 🙂' };
    const written = record(7, {
      tools: [{ name: 'search', toolset: 'kb', change: 'changed', before: { name: 'search' }, after: strange }],
    });
    await facts.saveGeneration(record(6));
    await facts.saveGeneration(written);
    if (kind !== 'memory') await facts.saveGeneration(written);
    expect(await facts.generation(7)).toEqual(written);
    expect(await facts.generation(99)).toBeUndefined();
    expect((await facts.generations(50)).map(({ number }) => number)).toEqual([7, 6]);
    expect(await facts.generations(1)).toHaveLength(1);
  });

  test('the oldest generations are forgotten: beyond 300, and where they are too large together', async () => {
    const { facts } = await openTestStore(await locationOf(kind));
    for (let number = 1; number <= 303; number++) await facts.saveGeneration(record(number));
    const kept = await facts.generations(1000);
    expect([kept.length, kept[0]?.number, kept.at(-1)?.number]).toEqual([300, 303, 4]);
    const large = { name: 'large', description: 'x'.repeat(15 * 1024 * 1024) };
    const tools = [{ name: 'large', toolset: 'kb', change: 'added' as const, before: null, after: large }];
    for (const number of [304, 305, 306]) await facts.saveGeneration(record(number, { tools }));
    expect((await facts.generations(1000)).map(({ number }) => number)).toEqual([306, 305]);
  });

  test('decisions are read newest first, all or of one toolset', async () => {
    const { facts } = await openTestStore(await locationOf(kind));
    const decide = (toolset: string, fingerprint: string, verdict: 'approved' | 'rejected') =>
      facts.saveDecision({ toolset, fingerprint, verdict, at: '2026-01-01T00:00:00.000Z', definitions: { tools: [] } });
    await decide('kb', 'one', 'approved');
    await decide('web', 'two', 'rejected');
    await decide('kb', 'three', 'rejected');
    expect((await facts.decisions({ limit: 10 })).map(({ fingerprint }) => fingerprint)).toEqual(['three', 'two', 'one']);
    expect((await facts.decisions({ toolset: 'kb', limit: 10 })).map(({ verdict }) => verdict)).toEqual(['rejected', 'approved']);
    expect(await facts.decisions({ toolset: 'kb', limit: 1 })).toHaveLength(1);
  });

  test('a toolset has one set of approved definitions, the last', async () => {
    const { facts } = await openTestStore(await locationOf(kind));
    expect(await facts.definitions('kb')).toBeUndefined();
    for (const fingerprint of ['one', 'two']) {
      await facts.saveDefinitions({ toolset: 'kb', fingerprint, at: '2026-01-01T00:00:00.000Z', definitions: { tools: [fingerprint] } });
    }
    expect(await facts.definitions('kb')).toMatchObject({ fingerprint: 'two', definitions: { tools: ['two'] } });
  });
});

test.each(['sqlite', 'postgres'] as const)('facts in %s outlive the process that wrote them', async (kind) => {
  const location = await locationOf(kind);
  const first = await openTestStore(location);
  await first.facts.saveGeneration(record(40));
  await first.facts.saveDefinitions({ toolset: 'kb', fingerprint: 'one', at: '2026-01-01T00:00:00.000Z', definitions: {} });
  await first.close();
  const { facts } = await openTestStore(location);
  expect(await facts.generation(40)).toEqual(record(40));
  expect(await facts.definitions('kb')).toMatchObject({ fingerprint: 'one' });
  expect(await facts.nextGeneration(0)).toBe(41);
});

test('replicas that start together on an empty database set it up once', async () => {
  const location = await postgres.createDatabase();
  const stores = await Promise.all(Array.from({ length: 5 }, () => openTestStore(location)));
  const numbers = await Promise.all(stores.map(({ facts }) => facts.nextGeneration(0)));
  expect(numbers.sort()).toEqual([1, 2, 3, 4, 5]);
});

const DAY = 86_400_000;

/** Writes one checkpoint, with the id that it would have got at this moment. */
async function writeThread(saver: BaseCheckpointSaver, threadId: string, ageDays = 0): Promise<void> {
  const id = ageDays === 0 ? uuid6(0) : idAt(Date.now() - ageDays * DAY);
  await saver.put(
    { configurable: { thread_id: threadId, checkpoint_ns: '' } },
    { v: 4, id, ts: new Date().toISOString(), channel_values: {}, channel_versions: {}, versions_seen: {} },
    { source: 'input', step: 0, parents: {} },
    {},
  );
}

/** A checkpoint id as LangGraph makes it, for a moment in the past. */
function idAt(ms: number): string {
  const real = Date.now;
  Date.now = () => ms;
  try {
    return uuid6(0);
  } finally {
    Date.now = real;
  }
}

describe('MCP_AGENT_THREAD_DAYS', () => {
  test.each(['sqlite', 'postgres'] as const)('idle threads leave %s, and neither those in use nor the one that runs now', async (kind) => {
    const clock = new ManualClock({ startedAt: Date.now() });
    const localLocks = new LocalRunLocks(clock);
    const { saver, locks, log } = await openTestStore(await locationOf(kind), { clock, localLocks, threadDays: 7 });
    for (const [threadId, age] of [
      ['old', 8],
      ['running', 30],
      ['young', 6],
      ['used again', 20],
    ] as const) {
      await writeThread(saver, threadId, age);
    }
    await writeThread(saver, 'used again');
    const lock = await locks.take('running');
    const has = async (threadId: string) => (await saver.getTuple({ configurable: { thread_id: threadId } })) !== undefined;
    await clock.advance(10_000);
    await until(() => log.some(({ message }) => message === 'idle threads deleted'));
    expect(await Promise.all(['old', 'running', 'young', 'used again'].map(has))).toEqual([false, true, true, true]);
    expect(log.filter(({ message }) => message === 'idle threads deleted')[0]?.fields).toEqual({ threads: 1 });
    lock?.release();
    await clock.advance(2 * 3_600_000);
    await until(async () => !(await has('running')));
    expect(await has('young')).toBe(true);
  });

  test('idle threads leave memory too', async () => {
    const clock = new ManualClock();
    const { saver } = await openTestStore('memory', { clock, threadDays: 1 });
    await writeThread(saver, 'old');
    await clock.advance(DAY - 60_000);
    await writeThread(saver, 'young');
    await clock.advance(2 * 3_600_000);
    await settle();
    expect(await saver.getTuple({ configurable: { thread_id: 'old' } })).toBeUndefined();
    expect(await saver.getTuple({ configurable: { thread_id: 'young' } })).toBeDefined();
  });

  test('many idle threads leave in batches with a pause between them', async () => {
    const clock = new ManualClock({ startedAt: Date.now() });
    const { saver, log } = await openTestStore(await sqliteLocation(), { clock, threadDays: 7 });
    for (let number = 0; number < 150; number++) await writeThread(saver, `thread ${number}`, 8);
    const deleted = () => log.filter(({ message }) => message === 'idle threads deleted').map(({ fields }) => fields.threads);
    await clock.advance(10_000);
    await until(() => deleted().length === 1);
    expect(deleted()).toEqual([100]);
    await until(() => clock.pending > 0);
    await clock.advance(5_000);
    await until(() => deleted().length === 2);
    expect(deleted()).toEqual([100, 50]);
  });

  test('0 sweeps nothing', async () => {
    const clock = new ManualClock();
    await openTestStore('memory', { clock });
    expect(clock.pending).toBe(0);
  });
});

describe('a store that cannot be used stops the start with one line', () => {
  test('a file that is no database, and a file that another process uses', async () => {
    const location = await sqliteLocation();
    await writeFile(location.slice('sqlite:'.length), 'This is a text and no database. '.repeat(100));
    await expect(openTestStore(location)).rejects.toThrow(/^MCP_AGENT_CHECKPOINT: the file .*threads\.db is no SQLite database\.$/);
    const other = await sqliteLocation();
    await openTestStore(other);
    await expect(openTestStore(other)).rejects.toThrow(/another process uses the file .*threads\.db/);
  });

  test('a folder that cannot be made', async () => {
    const location = await sqliteLocation();
    await writeFile(location.slice('sqlite:'.length), 'a file where a folder is wanted');
    await expect(openTestStore(`${location}/threads.db`)).rejects.toThrow(
      /^MCP_AGENT_CHECKPOINT: the file .* cannot be opened \(E[A-Z]+\)\.$/,
    );
  });

  test('a database that is down, a wrong password, and a database that does not exist, none of them with the password', async () => {
    const url = await postgres.createDatabase();
    const wrong = new URL(url);
    wrong.password = 'wrong-password';
    const unknown = new URL(url);
    unknown.pathname = '/unknown';
    const down = new URL(url);
    down.host = '127.0.0.1:9';
    const refusals = await Promise.all(
      [down, wrong, unknown].map((location) =>
        openTestStore(location.href).then(
          () => 'opened',
          (error: Error) => error.message,
        ),
      ),
    );
    expect(refusals[0]).toBe(`MCP_AGENT_CHECKPOINT: the PostgreSQL at 127.0.0.1:9${down.pathname} cannot be used (ECONNREFUSED).`);
    if (process.env.TEST_POSTGRES_URL === undefined) expect(refusals[1]).toContain('refuses the user or the password (28P01)');
    expect(refusals[2]).toContain('/unknown cannot be used (3D000)');
    for (const refusal of refusals) expect(refusal).not.toMatch(/password@|wrong-password|secret-password|\n/);
  });

  test('another kind of store is refused without repeating its password', async () => {
    const refused = openTestStore('redis://user:secret@db/threads');
    await expect(refused).rejects.toThrow('begins with "redis"');
    await expect(refused).rejects.not.toThrow('secret');
  });
});

describe('run locks over replicas', () => {
  test('a thread has one run at a time over all replicas, and other threads are free', async () => {
    const location = await postgres.createDatabase();
    const [one, two] = await Promise.all([openTestStore(location), openTestStore(location)]);
    const lock = await one.locks.take('a');
    expect(await two.locks.take('a')).toBeUndefined();
    expect(await one.locks.take('a')).toBeUndefined();
    expect(await two.locks.isHeld('a')).toBe(true);
    for (const other of ['b', 'c', 'd', 'e', 'f', 'g', 'h', 'ü'.repeat(256)]) {
      expect(await two.locks.take(other)).toBeDefined();
      expect([other, await one.locks.isHeld(other)]).toEqual([other, true]);
    }
    lock?.release();
    lock?.release();
    await until(async () => !(await two.locks.isHeld('a')));
    expect(await two.locks.take('a')).toBeDefined();
  });

  test('a run that is being cancelled on another replica is waited for, and one that is not cancelled is refused at once', async () => {
    const location = await postgres.createDatabase();
    const [one, two] = await Promise.all([openTestStore(location), openTestStore(location)]);
    const lock = await one.locks.take('a');
    lock?.markCancelling();
    const locks =
      "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    await until(async () => (await postgres.query(location, locks)).length === 2);
    const answers: string[] = [];
    const waiting = two.locks.take('a').then((taken) => {
      answers.push('answered');
      return taken;
    });
    await until(async () => (await two.locks.take('other')) !== undefined);
    expect(answers).toEqual([]);
    lock?.release();
    expect(await waiting).toBeDefined();
  });

  test('after its connection was ended, a replica has its locks again, and nobody else can take them meanwhile', async () => {
    const location = await postgres.createDatabase();
    const [one, two] = await Promise.all([openTestStore(location), openTestStore(location)]);
    const lock = await one.locks.take('a');
    await endSessions(location);
    await until(() => [one, two].every(({ log }) => log.some(({ message }) => message === 'store connection open again')));
    expect(lock?.lost.aborted).toBe(false);
    expect(await two.locks.take('a')).toBeUndefined();
    lock?.release();
    await until(async () => (await two.locks.take('a')) !== undefined);
  });

  test('a lock that another replica took while the connection was lost is reported as lost', async () => {
    const location = await postgres.createDatabase();
    const one = await openTestStore(location);
    const lock = await one.locks.take('a');
    const thief = await postgres.query(location, `SELECT classid, objid FROM pg_locks WHERE locktype = 'advisory'`);
    const key = (BigInt(String(thief[0]?.classid)) << 32n) | BigInt(String(thief[0]?.objid));
    const signed = BigInt.asIntN(64, key);
    // Waits for the lock, and so has it before the replica's new connection can ask.
    const taken = postgres.query(location, `SELECT pg_advisory_lock(${signed}), pg_sleep(6)`);
    await until(
      async () => (await postgres.query(location, "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")).length === 1,
    );
    await endSessions(location);
    await until(() => lock?.lost.aborted === true);
    expect(one.log).toContainEqual({ level: 'warn', message: 'run lock lost', fields: {} });
    lock?.release();
    await taken;
  });
});

describe('a database that hangs', () => {
  test('is reported within about two seconds to a run that is about to begin', async () => {
    const { location, proxy } = await behindProxy();
    const { check, facts } = await openTestStore(location);
    await check();
    proxy.blackHole('both', true);
    const asked = performance.now();
    await expect(check()).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(performance.now() - asked).toBeLessThan(4_000);
    // The connection that hangs is given up; the next one works again.
    proxy.blackHole('both', false);
    proxy.cut('rst');
    await until(async () => (await facts.nextGeneration(0)) > 0, { timeoutMs: 20_000 });
  });

  test('has no lock left on a connection of which only this side knows that it is broken', async () => {
    const { location, proxy } = await behindProxy();
    const one = await openTestStore(location);
    const lock = await one.locks.take('a');
    // The server goes on to hold the lock for a connection over which nothing comes any more.
    proxy.blackHoleOpen('both');
    await expect(one.locks.take('b')).rejects.toMatchObject({ code: 'store_unavailable' });
    await until(() => one.log.some(({ message }) => message === 'store connection open again'), { timeoutMs: 20_000 });
    expect(lock?.lost.aborted).toBe(false);
    const two = await openTestStore(location);
    expect(await two.locks.take('a')).toBeUndefined();
    lock?.release();
    await until(async () => (await two.locks.take('a')) !== undefined);
  });

  async function behindProxy() {
    const url = new URL(await postgres.createDatabase());
    const proxy = await startProxy(Number(url.port));
    url.port = String(proxy.port);
    return { location: url.href, proxy };
  }
});

/** Ends the connections on which replicas hold their locks. */
async function endSessions(location: string): Promise<void> {
  const ended = await postgres.query(
    location,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'mcp-agent-api%' AND datname = current_database()`,
  );
  expect(ended.length).toBeGreaterThan(0);
}
