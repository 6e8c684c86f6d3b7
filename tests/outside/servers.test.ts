import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Fleet, having, startFleet } from '../flows/fleet.js';
import { onCleanup } from '../support/cleanup.js';
import { runTurn } from '../support/run-client.js';
import { until } from '../support/until.js';
import { inModules, startServerProcess } from './server-process.js';

const MEMORY_TOOLS = [
  'add_observations',
  'create_entities',
  'create_relations',
  'delete_entities',
  'delete_observations',
  'delete_relations',
  'open_nodes',
  'read_graph',
  'search_nodes',
];

/** One turn in which the model calls this tool; returns what the tool answered, as the model sees it. */
async function call(fleet: Fleet, name: string, args: Record<string, unknown>): Promise<string> {
  fleet.model.reply(({ body }) => (body.messages.some(({ role }) => role === 'tool') ? { text: 'done' } : { toolCalls: [{ name, args }] }));
  const turn = await runTurn(fleet.baseUrl, { text: `Use ${name}` });
  expect(turn.events.at(-1)?.type).toBe('RUN_FINISHED');
  return String(turn.events.find(({ type }) => type === 'TOOL_CALL_RESULT')?.content);
}

async function startMemory(mode: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-agent-api-memory-'));
  onCleanup(() => rm(folder, { recursive: true }));
  const memory = `${process.execPath} ${inModules('@modelcontextprotocol/server-memory/dist/index.js')}`;
  return startServerProcess({
    args: [inModules('supergateway/dist/index.js'), '--stdio', memory, '--outputTransport', 'streamableHttp', '--port', 'PORT', ...mode],
    env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') },
  });
}

/** Each of these servers takes seconds to start, several times over where a gateway starts one for each request. */
const TIMEOUT_MS = 120_000;

describe('servers that are not part of this project', () => {
  test(
    "the protocol's own example server is listed, called, and survives a restart",
    async () => {
      const server = await startServerProcess({
        args: [inModules('@modelcontextprotocol/server-everything/dist/index.js'), 'streamableHttp'],
      });
      const fleet = await startFleet({ everything: server.url });
      const shown = await fleet.shown();
      expect(Object.keys(shown)).toEqual(expect.arrayContaining(['echo', 'get-sum', 'get-tiny-image']));
      expect((await fleet.toolset('everything')).state).toBe('watching');
      expect(await call(fleet, 'echo', { message: 'Hello' })).toContain('Hello');
      expect(await call(fleet, 'get-sum', { a: 2, b: 40 })).toContain('42');

      await server.stop('SIGKILL');
      await fleet.untilState('everything', 'failing');
      expect(await fleet.shown()).toEqual(shown);
      await server.start();
      await fleet.untilState('everything', 'watching');
      expect(await fleet.shown()).toEqual(shown);
      expect(await call(fleet, 'echo', { message: 'Hello again' })).toContain('Hello again');
      expect(having(fleet.rounds(), 'swapped')).toHaveLength(1);
    },
    TIMEOUT_MS,
  );

  test.each([
    ['with sessions', ['--stateful']],
    ['without sessions', []],
  ])(
    'a stdio server behind a gateway %s is listed, called, and survives a restart',
    async (_name, mode) => {
      const gateway = await startMemory(mode);
      const fleet = await startFleet({ memory: gateway.url });
      const shown = await fleet.shown();
      expect(Object.keys(shown)).toEqual(MEMORY_TOOLS);
      const entity = { name: 'Ada', entityType: 'person', observations: ['wrote the first program'] };
      expect(await call(fleet, 'create_entities', { entities: [entity] })).toContain('Ada');

      await gateway.stop('SIGTERM');
      await fleet.untilState('memory', 'failing');
      expect(await fleet.shown()).toEqual(shown);
      await gateway.start();
      await until(async () => ['watching', 'polling'].includes((await fleet.toolset('memory')).state), { timeoutMs: 20_000 });
      expect(await call(fleet, 'read_graph', {})).toContain('wrote the first program');
      expect(having(fleet.rounds(), 'swapped')).toHaveLength(1);
    },
    TIMEOUT_MS,
  );
});
