import { tool } from '@langchain/core/tools';
import { MemorySaver } from '@langchain/langgraph';
import express from 'express';
import { createAgent } from 'langchain';
import { z } from 'zod';
import { adoptAgent, createModel, createRouter, fingerprint } from '../../src/index.js';
import { serveLoopback } from '../support/loopback-server.js';
import { startModelServer } from '../support/model-server.js';
import { runVerifiedTurn } from '../support/run-client.js';

const weather = (description: string) =>
  tool(({ place }) => `sunny in ${place}`, { name: 'weather', description, schema: z.object({ place: z.string() }) });

const graph = { stream: () => undefined, getState: () => undefined };

test('the tools of an own agent are shown as the provider is sent them, whatever kind of schema they have', () => {
  const schema = { type: 'object' as const, properties: { words: { type: 'string' } } };
  const search = tool(() => '', { name: 'search', description: 'Searches', schema });
  const { tools, credentials, withheld } = adoptAgent({ graph, tools: [weather('Tells the weather'), search], toolset: 'own' });
  expect(tools).toMatchObject([
    { name: 'weather', toolset: 'own', original: 'weather', description: 'Tells the weather', parameters: { required: ['place'] } },
    { name: 'search', toolset: 'own', description: 'Searches', parameters: schema },
  ]);
  expect([credentials, withheld]).toEqual([[], []]);
});

test('its fingerprint changes with a description, and only then', () => {
  const of = (description: string) => fingerprint(adoptAgent({ graph, tools: [weather(description)] }).tools);
  expect(of('Tells the weather')).toBe(of('Tells the weather'));
  expect(of('Tells the weather')).not.toBe(of('Tells tomorrow’s weather'));
});

/** A host that serves an agent of LangChain's own making. */
async function startOwnAgent() {
  // Not strict: LangChain leaves `$schema` in what it makes of a zod schema, and the strict server refuses that.
  const provider = await startModelServer();
  const model = await createModel({ model: 'openai:test-model', apiKey: 'test-key', baseUrl: provider.baseUrl, maxRetries: 0 });
  const tools = [weather('Tells the weather')];
  const own = createAgent({ model, tools, checkpointer: new MemorySaver() });
  const agent = adoptAgent({ graph: own.graph, tools });
  const application = express().use(createRouter(() => agent));
  const { origin } = await serveLoopback((request, response) => application(request, response));
  return { provider, origin };
}

test("a turn on it calls its tools, and AG-UI's client accepts the stream", async () => {
  const { provider, origin } = await startOwnAgent();
  provider.reply(({ body }) =>
    body.messages.at(-1)?.role === 'tool'
      ? { text: 'Sunny.' }
      : { toolCalls: ['Oslo', 'Rome'].map((place) => ({ name: 'weather', args: { place } })) },
  );
  const { events, text } = await runVerifiedTurn(origin, { text: 'How is the weather?' });
  expect(text).toBe('Sunny.');
  const results = events.filter(({ type }) => type === 'TOOL_CALL_RESULT').map(({ content }) => content);
  expect(results.sort()).toEqual(['sunny in Oslo', 'sunny in Rome']);
});

test('a model that fails ends the turn with run_failed, and the thread can be used again', async () => {
  const { provider, origin } = await startOwnAgent();
  provider.reply(() => ({ status: 400 }));
  const turn = { text: 'Hello', threadId: 'thread' };
  expect((await runVerifiedTurn(origin, turn)).events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'run_failed' });
  provider.reply(() => ({ text: 'Hello again' }));
  expect((await runVerifiedTurn(origin, turn)).text).toBe('Hello again');
});
