import { buildCommand } from '../flows/build.js';
import { tool } from '../flows/fleet.js';
import { startIndex } from '../support/index-server.js';
import { shownTools, startModelServer } from '../support/model-server.js';
import { startService } from '../support/process.js';
import { type Answer, destroy, destroyMidway, pass, sse } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { runTurn } from '../support/run-client.js';
import { until } from '../support/until.js';

let built: Awaited<ReturnType<typeof buildCommand>>;

beforeAll(async () => {
  built = await buildCommand();
}, 120_000);

const midEvent = sse(['event: message\ndata: {"jsonrpc":"2.0","id":'], { end: 'rst' });

/** Breaks every other request, whatever it is, in one of these ways in turn, twenty times in all. */
function breakTwentyTimes(toolset: RawToolset): () => number {
  const ways: Answer[] = [destroy, destroyMidway(), midEvent];
  let seen = 0;
  let broken = 0;
  toolset.on('*', (exchange) => {
    seen += 1;
    if (seen % 2 === 0 || broken >= 20) return pass(exchange);
    broken += 1;
    return (ways[broken % ways.length] ?? destroy)(exchange);
  });
  return () => broken;
}

// Node ends a process with an unhandled rejection by itself: that is the default of --unhandled-rejections.
test('B103: toolsets that reset their sockets a hundred times, in the middle of whatever they are asked, never end the process', async () => {
  const eras = ['legacy', 'legacy', 'modern', 'modern', 'stateless'] as const;
  const flaky = await Promise.all(eras.map((era, at) => startRawToolset({ era, tools: [tool(`flaky${at}`, 'one')] })));
  const steady = await startRawToolset({ tools: [tool('steady', 'one')] });
  const urls = Object.fromEntries(flaky.map(({ url }, at) => [`flaky${at}`, url]));
  const index = await startIndex({ ...urls, steady: steady.url });
  const model = await startModelServer({ strict: true });
  model.reply(({ body }) =>
    body.messages.at(-1)?.role === 'tool' ? { text: 'done' } : { toolCalls: flaky.map((_each, at) => ({ name: `flaky${at}`, args: {} })) },
  );
  const service = startService(
    [],
    {
      MCP_URL: index.url,
      PROVIDER_MODEL: 'openai:test-model',
      PROVIDER_API_KEY: 'test-key',
      PROVIDER_BASE_URL: model.baseUrl,
      MCP_AGENT_API_REFRESH_SECONDS: '0.2',
      MCP_AGENT_API_HEARTBEAT_SECONDS: '0.2',
      MCP_AGENT_API_TOOL_SECONDS: '2',
      PORT: '0',
    },
    { script: built.script, cwd: built.folder },
  );
  const { port } = JSON.parse(await service.line('"listening"')) as { port: number };
  await service.line('"ready for runs"');
  const baseUrl = `http://127.0.0.1:${port}`;

  const broken = flaky.map(breakTwentyTimes);
  const ends = new Set<string>();
  await until(
    async () => {
      const { events } = await runTurn(baseUrl, { text: 'Use them' });
      ends.add(String(events.at(-1)?.type));
      for (const toolset of flaky) toolset.cutStreams('rst');
      return broken.every((count) => count() === 20);
    },
    { what: 'a hundred resets', timeoutMs: 60_000 },
  );
  expect([...ends]).toEqual(['RUN_FINISHED']);
  const results = model.requests.flatMap(({ body }) =>
    body.messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content)),
  );
  expect(new Set(results).size).toBeGreaterThan(1);

  // What is no longer disturbed is whole again, and in the end everything is closed while sockets break.
  for (const [at, toolset] of flaky.entries()) toolset.tools = [tool(`flaky${at}`, 'two')];
  await until(
    async () => {
      await runTurn(baseUrl, { text: 'Use them' });
      const shown = shownTools(model.requests.at(-1)).map(({ description }) => description);
      return shown.join() === 'two,two,two,two,two,one';
    },
    { what: 'the change of every toolset', timeoutMs: 30_000 },
  );
  for (const toolset of flaky) toolset.on('*', destroy);
  expect(await service.stop()).toBe(0);
  expect(service.stderr).toEqual([]);
}, 90_000);
