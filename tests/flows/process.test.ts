import { cp, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { gate } from '../support/gate.js';
import { startIndex } from '../support/index-server.js';
import { type ModelReply, type ModelServer, shownTools, startModelServer } from '../support/model-server.js';
import { type ServiceProcess, startService } from '../support/process.js';
import { hang } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { beginTurn, runTurn } from '../support/run-client.js';
import { type SdkEra, startSdkToolset } from '../support/sdk-toolset.js';
import { copyShippedDefinitions } from '../support/shipped-demo.js';
import { until } from '../support/until.js';
import { buildCommand } from './build.js';
import { tool } from './fleet.js';

let folder: string;
let script: string;

beforeAll(async () => {
  ({ folder, script } = await buildCommand());
}, 120_000);

/** Starts the built command in an empty folder, where no developer's `.env` lies. */
function startCommand(env: Readonly<Record<string, string>>): ServiceProcess {
  return startService([], env, { script, cwd: folder });
}

interface Serving {
  readonly service: ServiceProcess;
  readonly baseUrl: string;
  readonly model: ModelServer;
  readonly adminHeaders: Record<string, string>;
}

/** The command with its usual settings, serving these toolsets to a scripted model. */
async function serve(toolsets: Readonly<Record<string, string>>, env: Readonly<Record<string, string>> = {}): Promise<Serving> {
  const index = await startIndex(toolsets);
  const model = await startModelServer({ strict: true });
  const service = startCommand({
    MCP_URL: index.url,
    PROVIDER_MODEL: 'openai:test-model',
    PROVIDER_API_KEY: 'test-key',
    PROVIDER_BASE_URL: model.baseUrl,
    MCP_AGENT_API_ADMIN_TOKEN: 'admin-token',
    PORT: '0',
    ...env,
  });
  const { port } = JSON.parse(await service.line('"listening"')) as { port: number };
  await service.line('"ready for runs"');
  return { service, baseUrl: `http://127.0.0.1:${port}`, model, adminHeaders: { authorization: 'Bearer admin-token' } };
}

async function shownBy({ baseUrl, model }: Serving): Promise<Record<string, string | undefined>> {
  const asked = model.requests.length;
  await runTurn(baseUrl, { text: 'What can you do?' });
  return Object.fromEntries(shownTools(model.requests[asked]).map(({ name, description }) => [name, description]));
}

describe('the command refuses with exit code 1 and one line', () => {
  const GOOD = { MCP_URL: 'http://127.0.0.1:9/index.json', PROVIDER_MODEL: 'openai:test-model', PROVIDER_API_KEY: 'test-key' };
  const BAD: readonly (readonly [variable: string, value: string])[] = [
    ['MCP_URL', ''],
    ['MCP_URL', 'localhost:9000/mcp'],
    ['PROVIDER_MODEL', ''],
    ['PROVIDER_MODEL', 'gpt-5'],
    ['PROVIDER_BASE_URL', 'localhost'],
    ['MCP_AGENT_API_REFRESH_SECONDS', '30m'],
    ['MCP_AGENT_API_POLLING_SECONDS', '-1'],
    ['MCP_AGENT_API_INDEX_SECONDS', 'NaN'],
    ['MCP_AGENT_API_DEBOUNCE_MS', '1e3'],
    ['MCP_AGENT_API_LIST_TIMEOUT_SECONDS', 'Infinity'],
    ['MCP_AGENT_API_HEARTBEAT_SECONDS', '0x10'],
    ['MCP_AGENT_API_STARTUP_SECONDS', '2147484'],
    ['MCP_AGENT_API_READY_SECONDS', 'soon'],
    ['MCP_AGENT_API_REQUIRED', 'one,*'],
    ['MCP_AGENT_API_RUN_SECONDS', '0'],
    ['MCP_AGENT_API_TOOL_SECONDS', '-0.5'],
    ['MCP_AGENT_API_MAX_RUNS', '1.5'],
    ['MCP_AGENT_API_DRAIN_SECONDS', '25s'],
    ['MCP_AGENT_API_SYSTEM_PROMPT', 'file:there-is-no-such-file'],
    ['MCP_AGENT_API_TOKEN', 'two words'],
    ['MCP_AGENT_API_ADMIN_TOKEN', 'two words'],
    ['MCP_AGENT_API_REFRESH_TOKENS', 'no-equals-sign'],
    ['MCP_AGENT_API_CORS_ORIGINS', 'example.com'],
    ['MCP_AGENT_API_REVIEW', 'one'],
    ['MCP_AGENT_API_REVIEW_FIRST', 'maybe'],
    ['MCP_AGENT_API_UI', 'yes'],
    ['MCP_AGENT_CHECKPOINT', 'redis://127.0.0.1'],
    ['MCP_AGENT_THREAD_DAYS', '36501'],
    ['HOST', 'not a host'],
    ['PORT', '65536'],
    ['LOG_LEVEL', 'loud'],
    ['LOG_FORMAT', 'xml'],
  ];
  const outcomes = new Map<string, { code: number | null; lines: readonly string[] }>();
  const keyOf = (variable: string, value: string) => `${variable}=${value}`;

  beforeAll(async () => {
    const waiting = [...BAD];
    const worker = async () => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const [variable, value] = next;
        const service = startCommand({ ...GOOD, [variable]: value });
        outcomes.set(keyOf(variable, value), { code: await service.exited, lines: service.lines });
      }
    };
    await Promise.all([worker(), worker(), worker()]);
  }, 180_000);

  test.each(BAD)('%s=%s', (variable, value) => {
    const outcome = outcomes.get(keyOf(variable, value));
    expect(outcome).toEqual({ code: 1, lines: [expect.stringMatching(new RegExp(`^${variable} `))] });
    // What is secret is never repeated, and what is empty has no value to repeat.
    const [line = ''] = outcome?.lines ?? [];
    if (!line.includes('not shown') && value !== '') expect(line).toContain(JSON.stringify(value));
  });

  test('a provider whose package is not installed, naming the package', async () => {
    const service = startCommand({ ...GOOD, PROVIDER_MODEL: 'mistralai:some-model' });
    expect(await service.exited).toBe(1);
    expect(service.lines).toEqual([expect.stringContaining('@langchain/mistralai')]);
  });
});

describe('the command', () => {
  test('ends with exit code 1 and one line per toolset when nothing answers', async () => {
    const down = await startSdkToolset({ era: 'legacy' });
    await down.kill();
    const index = await startIndex({ one: down.url, two: down.url });
    const service = startCommand({
      MCP_URL: index.url,
      PROVIDER_MODEL: 'openai:test-model',
      PROVIDER_API_KEY: 'test-key',
      MCP_AGENT_API_STARTUP_SECONDS: '4',
      PORT: '0',
    });
    expect(await service.exited).toBe(1);
    expect(service.stderr).toEqual([
      expect.stringContaining('Not ready after 4 s'),
      expect.stringContaining('one: TOOLSET_UNREACHABLE'),
      expect.stringContaining('two: TOOLSET_UNREACHABLE'),
    ]);
  });

  test('says once at the start which settings are in use, without their secrets, and warns where anyone can reach it', async () => {
    const toolset = await startSdkToolset({ era: 'legacy', tools: [tool('a', 'one')] });
    const secrets = {
      PROVIDER_API_KEY: 'secret-key',
      MCP_AGENT_API_ADMIN_TOKEN: 'secret-admin',
      MCP_AGENT_API_REFRESH_TOKENS: 'a=secret-a',
    };
    const { service } = await serve({ toolset: toolset.url }, { ...secrets, HOST: '0.0.0.0', MCP_AGENT_API_POLLING_SECONDS: '7.5' });
    const entries = service.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const configurations = entries.filter(({ message }) => message === 'configuration');
    expect(configurations).toHaveLength(1);
    expect(configurations[0]).toMatchObject({ MCP_AGENT_API_REFRESH_SECONDS: 1_800, MCP_AGENT_API_POLLING_SECONDS: 7.5, HOST: '0.0.0.0' });
    expect(service.lines.join('\n')).not.toContain('secret-');
    expect(entries.filter(({ message }) => message === 'anyone who reaches this port may use the API')).toMatchObject([
      { level: 'warn', variable: 'MCP_AGENT_API_TOKEN' },
    ]);
    expect(await service.stop()).toBe(0);

    const alone = await serve({ toolset: toolset.url });
    expect(alone.service.lines.filter((line) => line.includes('anyone who reaches'))).toEqual([]);
  });

  test('that package.json names serves the demo without any setting, answers from its toolsets, and ends in order', async () => {
    const { bin } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { bin: Record<string, string> };
    const command = join(folder, bin['mcp-agent-api'] ?? '');
    expect(command).toBe(script);
    expect(await readFile(command, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
    copyShippedDefinitions(join(folder, 'demo', 'toolsets'));
    await cp(join('demo', 'data'), join(folder, 'demo', 'data'), { recursive: true });
    const service = startService(['demo'], { PORT: '0' }, { script: command, cwd: folder });
    const [, url = ''] = /curl -sN (http:\/\/[\d.:]+)\/runs/.exec(await service.line('curl -sN')) ?? [];
    const { text, events } = await runTurn(url, { text: 'What does the manual say about refreshing?' });
    expect(events.map(({ type }) => type)).toContain('TOOL_CALL_RESULT');
    expect(text).toContain('from the manual');
    expect(await service.stop()).toBe(0);
    expect(service.stderr).toEqual([]);
  });

  test('lets running turns end after SIGTERM, takes no new ones, closes its sessions, and exits with 0', async () => {
    const toolset = await startSdkToolset({ era: 'legacy', tools: [tool('a', 'one')] });
    const serving = await serve({ toolset: toolset.url });
    const barrier = gate();
    serving.model.reply(() => ({ text: 'done', gate: barrier }));
    const turn = await beginTurn(serving.baseUrl, { text: 'Take your time' });
    await until(() => barrier.waiting() === 1);
    serving.service.signal('SIGTERM');
    await until(async () => (await fetch(`${serving.baseUrl}/health/readiness`)).status === 503);
    expect((await fetch(`${serving.baseUrl}/health/liveness`)).status).toBe(200);
    expect((await runTurn(serving.baseUrl, { text: 'One more' })).status).toBe(503);
    barrier.open();
    const { events, text } = await turn.done;
    expect(text).toBe('done');
    expect(events.at(-1)?.type).toBe('RUN_FINISHED');
    expect(await serving.service.exited).toBe(0);
    expect([toolset.sessions(), toolset.streams()]).toEqual([0, 0]);
    expect(serving.service.stderr).toEqual([]);
  });

  test('ends turns that outlast the drain with an error, and still exits with 0', async () => {
    const toolset = await startSdkToolset({ era: 'modern', tools: [tool('a', 'one')] });
    const serving = await serve({ toolset: toolset.url }, { MCP_AGENT_API_DRAIN_SECONDS: '0.3' });
    serving.model.reply(() => ({ hang: true }));
    const turn = await beginTurn(serving.baseUrl, { text: 'For ever' });
    await until(() => serving.model.requests.length === 1);
    serving.service.signal('SIGTERM');
    expect((await turn.done).events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'shutting_down' });
    expect(await serving.service.exited).toBe(0);
  });

  test('ends every stream with an event when it has to stop, and every session at its toolset, within its grace (B116)', async () => {
    const [one, two] = await Promise.all(
      ['slow', 'other'].map((name) =>
        startSdkToolset({ era: 'legacy', tools: [{ ...tool(name, 'one'), run: () => new Promise<string>(() => undefined) }] }),
      ),
    );
    const serving = await serve({ one: one?.url ?? '', two: two?.url ?? '' }, { MCP_AGENT_API_DRAIN_SECONDS: '2' });
    const barrier = gate();
    serving.model.reply(({ body }): ModelReply => {
      const text = body.messages.at(-1)?.content;
      if (text === 'call') return { toolCalls: [{ name: 'slow', args: {} }] };
      if (text === 'say') return { text: 'one two three', stopAfter: { tokens: 2, how: 'hang' } };
      return text === 'end' ? { text: 'just in time', gate: barrier } : { hang: true };
    });
    const turns = await Promise.all(['call', 'say', 'think', 'end'].map((text) => beginTurn(serving.baseUrl, { text })));
    await until(() => one?.calls.length === 1 && turns[1]?.text() === 'one two' && serving.model.requests.length === 4);
    const { hostname, port } = new URL(serving.baseUrl);
    const idle = connect(Number(port), hostname);
    const idleClosed = new Promise((resolve) => idle.once('close', resolve));
    const signalledAt = performance.now();
    serving.service.signal('SIGTERM');
    await until(async () => (await fetch(`${serving.baseUrl}/health/readiness`)).status === 503);
    expect(performance.now() - signalledAt).toBeLessThan(1_500);
    expect(await runTurn(serving.baseUrl, { text: 'new' })).toMatchObject({ status: 503, problem: { code: 'shutting_down' } });
    barrier.open();
    const ends = (await Promise.all(turns.map(({ done }) => done))).map(({ events }) => events.at(-1));
    const stopped = { type: 'RUN_ERROR', code: 'shutting_down' };
    expect(ends).toMatchObject([stopped, stopped, stopped, { type: 'RUN_FINISHED' }]);
    expect(await serving.service.exited).toBe(0);
    // The drain, two seconds for farewells, two for open answers, one for sessions, and a busy machine.
    expect(performance.now() - signalledAt).toBeLessThan(12_000);
    await idleClosed;
    for (const toolset of [one, two]) expect([toolset?.counts().DELETE, toolset?.sessions(), toolset?.streams()]).toEqual([1, 0, 0]);
    // The two that hung at the model were ended there too.
    await until(() => serving.model.requests.filter(({ aborted }) => aborted).length === 2);
    expect(serving.service.stderr).toEqual([]);
  });

  test('ends at once on a second signal, however long the drain may last (B116)', async () => {
    const toolset = await startSdkToolset({ era: 'legacy', tools: [tool('a', 'one')] });
    const serving = await serve({ toolset: toolset.url }, { MCP_AGENT_API_DRAIN_SECONDS: '600' });
    serving.model.reply(() => ({ hang: true }));
    const turn = await beginTurn(serving.baseUrl, { text: 'For ever' });
    await until(() => serving.model.requests.length === 1);
    serving.service.signal('SIGTERM');
    await until(async () => (await fetch(`${serving.baseUrl}/health/readiness`)).status === 503);
    const signalledAt = performance.now();
    expect(await serving.service.stop('SIGINT')).toBe(1);
    expect(performance.now() - signalledAt).toBeLessThan(3_000);
    await expect(turn.done).rejects.toThrow();
  });

  test('ends in order on a signal while it is still starting', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    toolset.on('initialize', hang);
    const index = await startIndex({ toolset: toolset.url });
    const service = startCommand({ MCP_URL: index.url, PROVIDER_MODEL: 'openai:test-model', PROVIDER_API_KEY: 'test-key', PORT: '0' });
    await service.line('"listening"');
    await until(() => (toolset.counts().initialize ?? 0) > 0);
    expect(await service.stop('SIGINT')).toBe(0);
    expect(service.stderr).toEqual([]);
  });

  test.each<SdkEra>(['legacy', 'modern', 'both'])(
    'serves three silent redeploys in a row, each within 5 s of the port being up (%s)',
    async (era) => {
      const toolset = await startSdkToolset({ era, tools: [tool('a', 'zero')] });
      const serving = await serve({ toolset: toolset.url });
      expect(await shownBy(serving)).toEqual({ a: 'zero' });
      for (const [count, description] of ['one', 'two', 'three'].entries()) {
        // A redeploy is a process that ends in order or is killed, and is away for a moment.
        if (count === 1) await toolset.kill();
        else await toolset.stop();
        expect(await shownBy(serving)).toEqual(count === 0 ? { a: 'zero' } : { a: ['one', 'two'][count - 1] });
        await toolset.restart({ tools: [tool('a', description)] });
        await until(async () => (await shownBy(serving)).a === description, { timeoutMs: 5_000, what: `redeploy ${description}` });
      }
      expect(await serving.service.stop()).toBe(0);
    },
  );
});
