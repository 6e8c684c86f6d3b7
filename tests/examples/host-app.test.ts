import { execFile } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { buildCommand } from '../flows/build.js';
import { gate } from '../support/gate.js';
import { startIndex } from '../support/index-server.js';
import { type ModelServer, shownTools, startModelServer } from '../support/model-server.js';
import { type ServiceProcess, startService } from '../support/process.js';
import { beginTurn, runTurn, runVerifiedTurn } from '../support/run-client.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import type { TestTool } from '../support/toolset-parts.js';
import { until } from '../support/until.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

let folder: string;

// The examples are run beside a built package, whose name they import as a real host does.
beforeAll(async () => {
  ({ folder } = await buildCommand());
  await cp(join(ROOT, 'examples'), join(folder, 'examples'), { recursive: true });
}, 120_000);

interface Host {
  readonly service: ServiceProcess;
  readonly origin: string;
  readonly model: ModelServer;
  /** The lines of the application's own log with this message. */
  logged(message: string): Record<string, unknown>[];
}

const ANN = { authorization: 'Bearer ann-token' };
const BOB = { authorization: 'Bearer bob-token' };

async function startHost(app: 'app' | 'poll-only', env: Readonly<Record<string, string>>): Promise<Host> {
  const model = await startModelServer({ strict: true });
  const service = startService(
    [],
    {
      PROVIDER_MODEL: 'openai:test-model',
      PROVIDER_API_KEY: 'test-key',
      PROVIDER_BASE_URL: model.baseUrl,
      APP_USERS: 'ann=ann-token,bob=bob-token',
      APP_ADMINS: 'ann',
      PORT: '0',
      ...env,
    },
    { script: join(folder, 'examples', 'host-app', `${app}.js`), cwd: folder },
  );
  const { address } = JSON.parse(await service.line('"listening"')) as { address: { port: number } };
  return {
    service,
    model,
    origin: `http://127.0.0.1:${address.port}`,
    logged: (message) => service.stdout.map((line) => JSON.parse(line)).filter((entry) => entry.message === message),
  };
}

let turns = 0;
const asUser = (name: 'ann' | 'bob') => ({
  path: '/agent/runs',
  threadId: `${name}:${++turns}`,
  headers: name === 'ann' ? ANN : BOB,
});

async function shownBy({ origin, model }: Host): Promise<Record<string, string | undefined>> {
  const asked = model.requests.length;
  expect((await runTurn(origin, { ...asUser('bob'), text: 'What can you do?' })).status).toBe(200);
  return Object.fromEntries(shownTools(model.requests[asked]).map(({ name, description }) => [name, description]));
}

const search = (description: string): TestTool => ({
  name: 'search',
  description,
  inputSchema: { type: 'object', properties: { words: { type: 'string' } } },
  run: ({ words }) => `found ${String(words)}`,
});

/** Lets the model call the tool once, with AG-UI's own client watching, and then answer. */
async function callSearch({ origin, model }: Host) {
  model.reply(({ body }) =>
    body.messages.at(-1)?.role === 'tool' ? { text: 'There it is.' } : { toolCalls: [{ name: 'search', args: { words: 'blue' } }] },
  );
  const turn = asUser('ann');
  const { events, text } = await runVerifiedTurn(origin, { ...turn, text: 'Search for blue.' });
  return { threadId: turn.threadId, text, result: events.find(({ type }) => type === 'TOOL_CALL_RESULT')?.content };
}

async function messagesOf({ origin }: Host, threadId: string): Promise<unknown> {
  const answer = await fetch(`${origin}/agent/threads/${threadId}`, { headers: ANN });
  return ((await answer.json()) as { messages: unknown }).messages;
}

/** What strangers and other users are refused is the application's own doing, so both examples are asked. */
async function expectOwnAuthentication({ origin }: Host): Promise<void> {
  const statuses = async (path: string, headers: Record<string, string>, threadId: string) => [
    (await runTurn(origin, { path: '/agent/runs', headers, threadId, text: 'Hello' })).status,
    (await fetch(`${origin}${path}`, { headers })).status,
  ];
  expect(await statuses('/agent/connections', {}, 'ann:secret')).toEqual([401, 401]);
  expect(await statuses('/agent/connections', { authorization: 'Bearer guess' }, 'ann:secret')).toEqual([401, 401]);
  expect(await statuses('/agent/connections', ANN, 'ann:secret')).toEqual([200, 200]);
  expect(await statuses('/agent/threads/ann:secret', ANN, 'ann:secret')).toEqual([200, 200]);
  expect(await statuses('/agent/threads/ann%3Asecret', BOB, 'ann:secret')).toEqual([403, 403]);
  expect((await fetch(`${origin}/agent/threads/ann:secret/turns`, { headers: BOB })).status).toBe(403);
}

describe('an application that mounts the router', () => {
  async function startApp(env: Readonly<Record<string, string>> = {}) {
    const toolset = await startSdkToolset({ era: 'legacy', tools: [search('Searches the manual')] });
    const index = await startIndex({ manual: toolset.url });
    const host = await startHost('app', { MCP_URL: index.url, MCP_AGENT_API_REFRESH_SECONDS: '1800', ...env });
    await host.service.line('"ready for runs"');
    return { toolset, host };
  }

  test('serves a changed description after its notification, and keeps the thread in its own checkpointer', async () => {
    const { toolset, host } = await startApp();
    expect(await shownBy(host)).toEqual({ search: 'Searches the manual' });
    const { threadId, text, result } = await callSearch(host);
    expect([text, result]).toEqual(['There it is.', 'found blue']);
    toolset.setTools([search('Searches the manual and the announcements')]);
    await until(async () => (await shownBy(host)).search === 'Searches the manual and the announcements');
    expect(host.logged('the agent has new tools').map(({ generation, tools }) => [generation, tools])).toEqual([
      [1, ['search']],
      [2, ['search']],
    ]);
    expect(await messagesOf(host, threadId)).toHaveLength(4);
  });

  test('lets only its own users in, only to their own threads, and only its administrators refresh', async () => {
    const { host } = await startApp();
    await expectOwnAuthentication(host);
    const refresh = async (headers: Record<string, string>) => {
      const answer = await fetch(`${host.origin}/agent/refresh`, { method: 'POST', headers });
      return [answer.status, ((await answer.json()) as { outcome?: string }).outcome];
    };
    expect(await refresh({})).toEqual([401, undefined]);
    expect(await refresh(BOB)).toEqual([403, undefined]);
    expect(await refresh(ANN)).toEqual([200, 'unchanged']);
    expect((await fetch(`${host.origin}/healthz`)).status).toBe(200);
  });

  test('wraps each turn with its own context', async () => {
    const { host } = await startApp();
    const { threadId } = await runTurn(host.origin, { ...asUser('bob'), text: 'Hello' });
    await until(() => host.logged('turn ended').length === 1);
    expect(host.logged('turn ended')).toMatchObject([{ user: 'bob', threadId, generation: 1, durationMs: expect.any(Number) }]);
  });

  test('stops by itself when asked to, after the running turn, with nothing left open', async () => {
    const { toolset, host } = await startApp();
    const barrier = gate();
    host.model.reply(() => ({ text: 'done', gate: barrier }));
    const turn = await beginTurn(host.origin, { ...asUser('ann'), text: 'Take your time' });
    await until(() => barrier.waiting() === 1);
    host.service.signal('SIGTERM');
    await until(async () => (await fetch(`${host.origin}/healthz`)).status === 503);
    barrier.open();
    expect((await turn.done).events.at(-1)?.type).toBe('RUN_FINISHED');
    // The application never calls process.exit: it ends because no socket, timer or stream is left.
    expect(await host.service.exited).toBe(0);
    await until(() => toolset.sessions() === 0 && toolset.streams() === 0);
    expect(host.service.stderr).toEqual([]);
  });
});

test('an application that mounts the router may be stopped while its start is still going on', async () => {
  const gone = await startIndex();
  await gone.close();
  const { service, origin, logged } = await startHost('app', { MCP_URL: gone.url });
  expect((await fetch(`${origin}/healthz`)).status).toBe(503);
  expect((await runTurn(origin, { ...asUser('ann'), text: 'Hello' })).status).toBe(503);
  expect(await service.stop()).toBe(0);
  expect(logged('no toolset answered')).toEqual([]);
});

describe('an application that only wants the poll', () => {
  async function startPollOnly(env: Readonly<Record<string, string>> = {}) {
    const toolset = await startSdkToolset({ era: 'stateless', tools: [search('Searches the manual')] });
    const host = await startHost('poll-only', { MCP_URL: toolset.url, MCP_AGENT_API_REFRESH_SECONDS: '0.2', ...env });
    return { toolset, host };
  }

  test('serves a changed description after the next poll, through a restart of the toolset', async () => {
    const { toolset, host } = await startPollOnly();
    expect(await shownBy(host)).toEqual({ search: 'Searches the manual' });
    await toolset.kill();
    await until(() => host.logged('round aborted').length > 0);
    expect(await shownBy(host)).toEqual({ search: 'Searches the manual' });
    await toolset.restart({ tools: [search('Searches everything')] });
    await until(async () => (await shownBy(host)).search === 'Searches everything');
    const { threadId, text, result } = await callSearch(host);
    expect([text, result]).toEqual(['There it is.', 'found blue']);
    expect(await messagesOf(host, threadId)).toHaveLength(4);
    const connections = await fetch(`${host.origin}/agent/connections`, { headers: ANN });
    expect(((await connections.json()) as { tools: unknown[] }).tools).toMatchObject([
      { name: 'search', description: 'Searches everything', parameters: { properties: { words: { type: 'string' } } } },
    ]);
    expect(host.logged('the agent has new tools')).toHaveLength(1);
  });

  test('lets only its own users in, and only to their own threads', async () => {
    const { host } = await startPollOnly();
    await expectOwnAuthentication(host);
  });

  test('tells the model when a toolset cannot be reached, and the turn goes on', async () => {
    const { toolset, host } = await startPollOnly();
    await toolset.kill();
    expect(await callSearch(host)).toMatchObject({ text: 'There it is.', result: expect.stringContaining('Error') });
  });

  test('stops by itself when asked to, with nothing left open', async () => {
    const { toolset, host } = await startPollOnly({ MCP_AGENT_API_REFRESH_SECONDS: '1800' });
    await shownBy(host);
    expect(await host.service.stop()).toBe(0);
    await until(() => toolset.sockets() === 0);
    expect(host.service.stderr).toEqual([]);
  });
});

test("the examples agree with the library's types", async () => {
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const { stdout } = await run(process.execPath, [compiler, '-p', join(ROOT, 'examples', 'tsconfig.json')]).catch(
    (error: { stdout?: string }) => ({ stdout: error.stdout ?? String(error) }),
  );
  expect(stdout).toBe('');
}, 60_000);
