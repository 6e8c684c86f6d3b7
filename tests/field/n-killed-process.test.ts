import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildCommand } from '../flows/build.js';
import { tool } from '../flows/fleet.js';
import { onCleanup } from '../support/cleanup.js';
import { startIndex } from '../support/index-server.js';
import { shownTools, startModelServer } from '../support/model-server.js';
import { startService } from '../support/process.js';
import { hang } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { beginTurn, runTurn } from '../support/run-client.js';
import { until } from '../support/until.js';

let built: Awaited<ReturnType<typeof buildCommand>>;

beforeAll(async () => {
  built = await buildCommand();
}, 120_000);

test('B112: a process that is killed while a tool runs leaves a thread that goes on, also when the tool is gone by then', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-agent-api-killed-'));
  onCleanup(() => rm(folder, { recursive: true, force: true }));
  const toolset = await startRawToolset({ tools: [tool('quick', 'one'), tool('slow', 'one')] });
  toolset.calls.set('slow', () => hang);
  const index = await startIndex({ toolset: toolset.url });
  const model = await startModelServer({ strict: true });
  const start = async () => {
    const service = startService(
      [],
      {
        MCP_URL: index.url,
        PROVIDER_MODEL: 'openai:test-model',
        PROVIDER_API_KEY: 'test-key',
        PROVIDER_BASE_URL: model.baseUrl,
        MCP_AGENT_CHECKPOINT: `sqlite:${join(folder, 'threads.db')}`,
        PORT: '0',
      },
      { script: built.script, cwd: built.folder },
    );
    const { port } = JSON.parse(await service.line('"listening"')) as { port: number };
    await service.line('"ready for runs"');
    return { service, baseUrl: `http://127.0.0.1:${port}` };
  };

  const first = await start();
  const calls = ['quick', 'slow'].map((name) => ({ name, args: {} }));
  model.reply(({ body }) => (body.messages.at(-1)?.content === 'Take your time' ? { toolCalls: calls } : { text: 'back' }));
  const turn = await beginTurn(first.baseUrl, { text: 'Take your time', threadId: 't1' });
  await until(() => turn.events.some(({ type }) => type === 'TOOL_CALL_RESULT') && toolset.received.length === 2, { what: 'both calls' });
  expect(await first.service.stop('SIGKILL')).toBeNull();
  await expect(turn.done).rejects.toThrow();

  toolset.tools = [tool('quick', 'one')];
  const second = await start();
  for (const text of ['Still there?', 'And now?']) {
    const next = await runTurn(second.baseUrl, { text, threadId: 't1' });
    expect(next.events.at(-1)?.type).toBe('RUN_FINISHED');
    expect(next.text).toBe('back');
  }
  const { body } = model.requests.at(-1) ?? {};
  expect(shownTools(model.requests.at(-1)).map(({ name }) => name)).toEqual(['quick']);
  const results = body?.messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content)) ?? [];
  expect(results).toHaveLength(2);
  expect(results.filter((text) => text.includes('interrupted'))).not.toHaveLength(0);
  // Nothing that may have run is run again.
  expect(toolset.received).toHaveLength(2);
  expect(await second.service.stop()).toBe(0);
});
