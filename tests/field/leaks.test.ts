import { buildCommand } from '../flows/build.js';
import { startFleet, tool } from '../flows/fleet.js';
import { watchedSession } from '../mcp/session-fixture.js';
import { startIndex } from '../support/index-server.js';
import { startModelServer } from '../support/model-server.js';
import { startService } from '../support/process.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { runTurn } from '../support/run-client.js';
import { until } from '../support/until.js';
import { heldBytes } from './memory.js';
import { toolTurn } from './tool-turn.js';

const MB = 1024 * 1024;
const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '0' };
const ERAS = ['legacy', 'modern'] as const;

/** Sockets, timers and everything else that keeps this process busy, by kind. */
function resources(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

function listeners(): number {
  return process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
}

/** Waits until there are no more of any kind than before; a few more sockets may be idle for a moment, and time out. */
async function untilBack(before: Record<string, number>): Promise<void> {
  const wait = { timeoutMs: 15_000, what: `resources as before: ${JSON.stringify(before)}` };
  await until(() => Object.entries(resources()).every(([kind, count]) => count <= (before[kind] ?? 0) + 2), wait);
}

describe.each(ERAS)('300 reconnects to a %s toolset', (era) => {
  test('leave sockets, timers, listeners and bytes as they were, and no session at the server', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    const session = watchedSession(toolset.url, { limits: { reopenMinMs: 1, reopenMaxMs: 2 }, heartbeatSeconds: 60 });
    await session.start();
    const reconnect = async (round: number) => {
      const before = session.signals.length;
      if (round % 3 === 2) toolset.forgetSessions();
      toolset.cutStreams(round % 2 === 0 ? 'fin' : 'rst');
      await until(() => session.signals.length > before && toolset.streams.size === 1, { what: `reconnect ${round}` });
      if (round % 10 === 0) await session.call({ tool: 'a', args: {}, timeoutMs: 5_000 });
    };
    for (let round = 0; round < 40; round += 1) await reconnect(round);
    toolset.requests.length = 0;
    const before = { resources: resources(), listeners: listeners(), bytes: heldBytes() };
    for (let round = 40; round < 340; round += 1) await reconnect(round);
    toolset.requests.length = 0;
    await untilBack(before.resources);
    expect(listeners()).toBe(before.listeners);
    // A session that stayed behind would be about 100 kB.
    expect(heldBytes() - before.bytes).toBeLessThan(6 * MB);
    expect(toolset.sessions.size).toBeLessThanOrEqual(1);
    await session.close();
    await until(() => toolset.openSockets() === 0 && toolset.sessions.size === 0, { what: 'no socket and no session' });
  }, 90_000);
});

test('300 swaps with runs in between, over lost sessions of both eras, leave everything as it was', async () => {
  const toolsets = {
    legacy: await startRawToolset({ era: 'legacy', tools: [tool('a', '0')] }),
    modern: await startRawToolset({ era: 'modern', tools: [tool('b', '0')] }),
  };
  const fleet = await startFleet({ legacy: toolsets.legacy.url, modern: toolsets.modern.url }, { env: NO_POLL });
  const forget = () => {
    for (const { requests, received } of Object.values(toolsets)) requests.length = received.length = 0;
    for (const kept of [fleet.log, fleet.model.requests, fleet.rounds(), fleet.index.requests]) (kept as unknown[]).length = 0;
  };
  const swap = async (count: number) => {
    const era = ERAS[count % 2] ?? 'legacy';
    const toolset: RawToolset = toolsets[era];
    const name = era === 'legacy' ? 'a' : 'b';
    if (count % 3 === 0) toolset.forgetSessions();
    toolset.tools = [tool(name, String(count))];
    // A request needs no token of those that hold a flapping toolset back.
    expect(await fleet.refresh(era)).toMatchObject({ body: { outcome: 'swapped' } });
    if (count % 3 === 0) expect((await toolTurn(fleet, name)).result).toBe('{}');
  };
  // As many swaps as the history remembers come first.
  for (let count = 1; count <= 60; count += 1) await swap(count);
  forget();
  const before = { resources: resources(), listeners: listeners(), bytes: heldBytes() };
  for (let count = 61; count <= 360; count += 1) await swap(count);
  forget();
  expect((await fleet.status()).draining).toEqual([]);
  await untilBack(before.resources);
  expect(listeners()).toBe(before.listeners);
  // 100 threads of a few messages are kept, and nothing else: an agent that stayed behind would be about 100 kB.
  expect(heldBytes() - before.bytes).toBeLessThan(12 * MB);
  await fleet.app.stop();
  await until(() =>
    Object.values(toolsets).every((each) => each.sessions.size === 0 && each.openSockets() === 0 && each.streams.size === 0),
  );
}, 120_000);

describe('the process', () => {
  let command: Awaited<ReturnType<typeof buildCommand>>;

  beforeAll(async () => {
    command = await buildCommand();
  }, 120_000);

  // Jest swallows Node's warnings, so this is about a process of its own, which prints them on stderr.
  test('prints no warning at 30 parallel calls in one step, over two eras, also when they meet a lost session', async () => {
    const toolsets = [
      await startRawToolset({ era: 'legacy', tools: [tool('a', 'one')] }),
      await startRawToolset({ era: 'modern', tools: [tool('b', 'one')] }),
    ];
    const index = await startIndex({ legacy: toolsets[0]?.url ?? '', modern: toolsets[1]?.url ?? '' });
    const model = await startModelServer({ strict: true });
    model.reply(({ body }) => {
      if (body.messages.at(-1)?.role === 'tool') return { text: 'done' };
      return { toolCalls: Array.from({ length: 30 }, (_, count) => ({ name: count % 2 === 0 ? 'a' : 'b', args: { count } })) };
    });
    const env = { MCP_URL: index.url, PROVIDER_MODEL: 'openai:m', PROVIDER_API_KEY: 'k', PROVIDER_BASE_URL: model.baseUrl, PORT: '0' };
    const service = startService([], env, { script: command.script, cwd: command.folder });
    const { port } = JSON.parse(await service.line('"listening"')) as { port: number };
    await service.line('"ready for runs"');
    for (const loss of ['none', 'sessions', 'none'] as const) {
      if (loss === 'sessions') for (const each of toolsets) each.forgetSessions();
      const { events } = await runTurn(`http://127.0.0.1:${port}`, { text: 'All at once' });
      const results = events.filter(({ type }) => type === 'TOOL_CALL_RESULT').map(({ content }) => String(content));
      expect(results).toHaveLength(30);
      expect(results.filter((text) => !text.startsWith('{"count"'))).toEqual([]);
      expect(events.at(-1)?.type).toBe('RUN_FINISHED');
    }
    expect(toolsets[0]?.counts().initialize).toBe(2);
    expect(await service.stop()).toBe(0);
    expect(service.stderr).toEqual([]);
  }, 60_000);
});
