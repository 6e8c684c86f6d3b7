import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildCommand } from '../flows/build.js';
import { tool } from '../flows/fleet.js';
import { onCleanup } from '../support/cleanup.js';
import { gate } from '../support/gate.js';
import { startIndex } from '../support/index-server.js';
import { type ModelServer, startModelServer } from '../support/model-server.js';
import { startService } from '../support/process.js';
import { beginTurn, type RunEvent } from '../support/run-client.js';
import { type SdkToolset, startSdkToolset } from '../support/sdk-toolset.js';
import { stays, until } from '../support/until.js';
import { sqliteLocation } from './open.js';
import { type PostgresServer, startPostgres } from './postgres-server.js';
import { environment, type Replica, startReplica } from './replica.js';

let postgres: PostgresServer;
let folder: string;
let script: string;

beforeAll(async () => {
  [postgres, { folder, script }] = await Promise.all([startPostgres(), buildCommand()]);
}, 120_000);

interface World {
  readonly toolset: SdkToolset;
  readonly model: ModelServer;
  start(env?: Readonly<Record<string, string>>): Promise<Replica>;
}

/** A toolset, a strict model and a store, for as many processes as a test wants. */
async function startWorld({ checkpoint, era = 'legacy' }: { checkpoint: string; era?: 'legacy' | 'stateless' }): Promise<World> {
  const toolset = await startSdkToolset({ era, tools: [tool('search', 'one'), tool('find', 'two')] });
  const index = await startIndex({ kb: toolset.url });
  const model = await startModelServer({ strict: true });
  return { toolset, model, start: (env) => startReplica({ folder, script, mcpUrl: index.url, model, checkpoint, env }) };
}

function lastOf(events: readonly RunEvent[]) {
  const { type, code } = events.at(-1) ?? { type: 'none' };
  return code === undefined ? type : `${type} ${code}`;
}

interface TurnsBody {
  readonly turns: number;
  readonly total: number;
  readonly history: readonly { turn: number; question: string; checkpointId: string; generation: number; fingerprint: string }[];
}

const turnsOf = async (replica: Replica, query = '') => (await replica.get(`/threads/t/turns${query}`)).body as TurnsBody;

test('two replicas share threads, history, one lock per thread and one counter of generations, and know of each other', async () => {
  const world = await startWorld({ checkpoint: await postgres.createDatabase() });
  const [one, two] = await Promise.all([world.start(), world.start()]);
  const barrier = gate();
  world.model.reply(({ number }) => (number === 0 ? { text: 'slowly', gate: barrier } : { text: 'ok' }));

  const running = await beginTurn(one.baseUrl, { threadId: 't', text: 'first' });
  await until(() => barrier.waiting() === 1);
  const busy = await two.turn('t', 'meanwhile');
  expect([busy.status, busy.problem]).toEqual([409, { detail: { reason: 'run_in_progress' }, code: 'run_in_progress' }]);
  expect((await two.turn('other', 'hello')).status).toBe(200);
  barrier.open();
  expect(lastOf((await running.done).events)).toBe('RUN_FINISHED');

  const second = await two.turn('t', 'second');
  expect(lastOf(second.events)).toBe('RUN_FINISHED');
  const statuses = await Promise.all([one.status(), two.status()]);
  expect(statuses.map(({ generation }) => generation).sort()).toEqual([1, 2]);
  const history = await turnsOf(one);
  expect(history).toMatchObject({ turns: 2, total: 2 });
  expect(history.history).toMatchObject([
    { turn: 1, question: 'first', generation: statuses[0]?.generation, fingerprint: statuses[0]?.fingerprint },
    { turn: 2, question: 'second', generation: statuses[1]?.generation },
  ]);
  expect(await turnsOf(two)).toEqual(history);

  await until(async () => (await one.status()).replicas.length === 2 && (await two.status()).replicas.length === 2);
  const replicas = (await one.status()).replicas;
  expect(replicas.map(({ instance }) => instance).sort()).toEqual(statuses.map(({ instance }) => instance).sort());
  expect(new Set(replicas.map(({ fingerprint }) => fingerprint)).size).toBe(1);
  await two.process.stop();
  await until(async () => (await one.status()).replicas.length === 1);
  expect([...one.process.stderr, ...two.process.stderr]).toEqual([]);
});

test('who leaves a run on one replica can go on at once on another', async () => {
  const world = await startWorld({ checkpoint: await postgres.createDatabase() });
  const [one, two] = await Promise.all([world.start(), world.start()]);
  world.model.reply(({ number }) => (number === 0 ? { hang: true } : { text: 'ok' }));
  const running = await beginTurn(one.baseUrl, { threadId: 't', text: 'first' });
  await until(() => world.model.requests.length === 1);
  running.leave();
  await until(() => world.model.requests[0]?.aborted === true);
  const next = await two.turn('t', 'second');
  expect([next.status, lastOf(next.events)]).toEqual([200, 'RUN_FINISHED']);
});

test('what one replica finds by poll reaches the other as a hint, which lists once and does not hint on', async () => {
  const world = await startWorld({ checkpoint: await postgres.createDatabase(), era: 'stateless' });
  const [polling, waiting] = await Promise.all([
    world.start({ MCP_AGENT_API_POLLING_SECONDS: '0.3' }),
    world.start({ MCP_AGENT_API_POLLING_SECONDS: '1000' }),
  ]);
  world.toolset.setTools([tool('search', 'changed')]);
  await until(async () => (await waiting.status()).last?.trigger === 'replica');
  const [found, heard] = await Promise.all([polling.status(), waiting.status()]);
  expect(heard.last).toMatchObject({ outcome: 'swapped', trigger: 'replica', changes: { changed: ['search'], removed: ['find'] } });
  expect(heard.fingerprint).toBe(found.fingerprint);
  expect(heard.generation).not.toBe(found.generation);
  const rounds = heard.rounds.swapped;
  await stays(async () => (await waiting.status()).rounds.swapped === rounds, { durationMs: 500 });
});

test('B105: a database that crashes under running turns ends them, refreshing goes on, and everything works when it is back', async () => {
  const checkpoint = await postgres.createDatabase();
  const world = await startWorld({ checkpoint });
  const replicas = await Promise.all([world.start(), world.start()]);
  const [one, two] = replicas;
  for (const replica of replicas) expect(lastOf((await replica.turn(`t${replica.process.pid}`, 'before')).events)).toBe('RUN_FINISHED');
  const barrier = gate();
  world.model.reply(() => ({ text: 'too late', gate: barrier }));
  const running = await Promise.all(
    replicas.map((replica) => beginTurn(replica.baseUrl, { threadId: `t${replica.process.pid}`, text: 'during' })),
  );
  await until(() => barrier.waiting() === 2);
  await postgres.crash();
  let down = true;
  onCleanup(async () => {
    if (down) await postgres.restore();
  });
  barrier.open();
  for (const { done } of running) {
    const { events } = await done;
    expect(lastOf(events)).toBe('RUN_ERROR store_unavailable');
    expect(events.filter(({ type }) => type === 'RUN_ERROR')).toHaveLength(1);
  }
  const refused = await one.turn('another', 'hello');
  expect([refused.status, refused.problem]).toMatchObject([503, { code: 'store_unavailable' }]);
  expect((await one.get(`/threads/t${one.process.pid}`)).status).toBe(503);
  expect((await one.get('/health/readiness')).status).toBe(200);

  // Refreshing and swaps need no store.
  const before = (await one.status()).generation;
  world.toolset.setTools([tool('search', 'changed while the database was away')]);
  await until(async () => (await one.status()).generation > before && (await two.status()).last?.changes.removed.includes('find'));
  const numbered = (await one.status()).generation;

  world.model.reply(() => ({ text: 'ok' }));
  await postgres.restore();
  down = false;
  for (const replica of replicas) {
    await until(async () => (await replica.turn(`t${replica.process.pid}`, 'after')).status === 200, { timeoutMs: 20_000 });
    const { body } = await replica.get(`/threads/t${replica.process.pid}`);
    const questions = (body as { messages: { role: string; content: string }[] }).messages.filter(({ role }) => role === 'user');
    expect(questions[0]?.content).toBe('before');
    expect(questions.at(-1)?.content).toBe('after');
  }
  // The record of the swap is written later, and every toolset is listed once because hints may have been missed.
  const recorded = async () =>
    (await postgres.query(checkpoint, 'SELECT number FROM mcp_agent_generations')).map(({ number }) => Number(number));
  await until(async () => (await recorded()).includes(numbered), { timeoutMs: 20_000 });
  for (const { process: service } of replicas) {
    await service.line(/"round unchanged".*"trigger":"replica"|"trigger":"replica".*"round unchanged"/);
    expect(service.stderr).toEqual([]);
  }
}, 90_000);

describe.each(['sqlite', 'postgres'] as const)('with %s', (kind) => {
  test('B112: a process that is killed while a tool runs loses no finished turn, and the thread goes on without that tool', async () => {
    const checkpoint = kind === 'sqlite' ? await sqliteLocation() : await postgres.createDatabase();
    const world = await startWorld({ checkpoint });
    const barrier = gate();
    onCleanup(() => barrier.open());
    const slow = { ...tool('slow', 'takes its time'), run: () => barrier.pass().then(() => 'done') };
    world.toolset.setTools([tool('search', 'one'), slow]);
    const first = await world.start();
    world.model.reply(() => ({ text: 'Nice to meet you' }));
    expect(lastOf((await first.turn('t', 'hello')).events)).toBe('RUN_FINISHED');
    world.model.reply(({ body }) =>
      body.messages.at(-1)?.role === 'user' ? { toolCalls: [{ name: 'slow', args: {} }] } : { text: 'never said' },
    );
    const running = await beginTurn(first.baseUrl, { threadId: 't', text: 'use the slow tool' });
    await until(() => barrier.waiting() === 1);
    await first.process.stop('SIGKILL');
    await expect(running.done).rejects.toThrow();

    world.toolset.setTools([tool('search', 'one')]);
    world.model.reply(() => ({ text: 'Still here' }));
    const second = await world.start();
    const before = await second.get('/threads/t');
    expect(before.body).toMatchObject({ messages: [{ content: 'hello' }, { content: 'Nice to meet you' }, {}, {}] });
    // PostgreSQL lets the killed process's lock go when it sees the broken connection.
    await until(
      async () =>
        (await second.get('/threads/t')).body !== undefined && !((await second.get('/threads/t')).body as { running: boolean }).running,
    );
    const turn = await second.turn('t', 'and now?');
    expect([turn.status, lastOf(turn.events), turn.text]).toEqual([200, 'RUN_FINISHED', 'Still here']);
    const { history } = await turnsOf(second);
    expect(history.map(({ question }) => question)).toEqual(['hello', 'use the slow tool', 'and now?']);
    expect(history[2]?.generation).toBeGreaterThan(history[0]?.generation ?? 0);
    expect(new Set(history.map(({ checkpointId }) => checkpointId)).size).toBe(3);
    expect((await turnsOf(second, '?limit=1')).history.map(({ turn: number }) => number)).toEqual([3]);
    expect(await second.process.stop()).toBe(0);
  });

  test('a driver that is not installed stops the start with one line that names the package', async () => {
    const driver = kind === 'sqlite' ? 'better-sqlite3' : 'pg';
    const packages = `${driver}@${kind === 'sqlite' ? 12 : 8} @langchain/langgraph-checkpoint-${kind}@1`;
    const hooks = join(folder, `without-${driver}.mjs`);
    const hide = `export const resolve = (name, context, next) => {
      if (name === ${JSON.stringify(driver)}) throw Object.assign(new Error('hidden'), { code: 'ERR_MODULE_NOT_FOUND' });
      return next(name, context);
    };`;
    await writeFile(
      hooks,
      `import { register } from 'node:module'; register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hide)}));`,
    );
    const world = await startWorld({ checkpoint: '' });
    const checkpoint = kind === 'sqlite' ? await sqliteLocation() : 'postgres://user:secret-password@127.0.0.1:9/threads';
    const service = startService(
      [],
      { ...environment({ mcpUrl: world.toolset.url, model: world.model, checkpoint }), NODE_OPTIONS: `--import ${hooks}` },
      { script, cwd: folder },
    );
    expect(await service.exited).toBe(1);
    expect(service.stderr).toEqual([
      `mcp-agent-api cannot start: MCP_AGENT_CHECKPOINT: this store needs the package ${driver}, which is not installed. Install it: npm install ${packages}`,
    ]);
  });
});

test('a database that is down stops the start with one line that names the host, and no password', async () => {
  const world = await startWorld({ checkpoint: '' });
  const checkpoint = 'postgres://user:secret-password@127.0.0.1:9/threads';
  const service = startService([], environment({ mcpUrl: world.toolset.url, model: world.model, checkpoint }), { script, cwd: folder });
  expect(await service.exited).toBe(1);
  expect(service.lines).toEqual([
    'mcp-agent-api cannot start: MCP_AGENT_CHECKPOINT: the PostgreSQL at 127.0.0.1:9/threads cannot be used (ECONNREFUSED).',
  ]);
});
