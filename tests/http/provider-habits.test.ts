import type { ServerResponse } from 'node:http';
import express from 'express';
import { buildAgent } from '../../src/agent/build-agent.js';
import { createModel } from '../../src/agent/model.js';
import { createRouter } from '../../src/http/router.js';
import { Checkpointing } from '../../src/store/checkpointing.js';
import { bodyOf, serveLoopback } from '../support/loopback-server.js';
import { runVerifiedTurn } from '../support/run-client.js';
import { startTooling } from './agent-host.js';

/** A provider that gives every answer the same id and its tool calls none, as some that imitate OpenAI's API do. */
async function startCarelessProvider(): Promise<{ baseUrl: string; asked: { messages: { role: string; tool_call_id?: string }[] }[] }> {
  const asked: { messages: { role: string; tool_call_id?: string }[] }[] = [];
  const http = await serveLoopback(async (request, response) => {
    const body = JSON.parse(await bodyOf(request));
    asked.push(body);
    const wantsTool = body.messages.at(-1).role === 'user' && asked.length === 1;
    const call = { index: 0, type: 'function', function: { name: 'search', arguments: '{}' } };
    stream(response, wantsTool ? { tool_calls: [call] } : { content: `answer ${asked.length}` });
  });
  return { baseUrl: `${http.origin}/v1`, asked };
}

function stream(response: ServerResponse, delta: object): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const piece of [{ role: 'assistant', content: '' }, delta]) {
    const choices = [{ index: 0, delta: piece, finish_reason: null }];
    response.write(`data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices })}\n\n`);
  }
  response.end('data: [DONE]\n\n');
}

test('a provider that repeats its ids and leaves out those of tool calls damages neither stream nor thread', async () => {
  const provider = await startCarelessProvider();
  const { sessions, catalog } = await startTooling([{ name: 'kb', tools: [{ name: 'search', run: () => 'found' }] }]);
  const model = await createModel({ model: 'openai:m', apiKey: 'k', baseUrl: provider.baseUrl });
  const { saver } = await Checkpointing.open('memory');
  const agent = buildAgent({ catalog: await catalog(), sessions, model, checkpointer: saver });
  const app = express().use(createRouter(() => agent));
  const { origin } = await serveLoopback((req, res) => app(req, res));
  const first = await runVerifiedTurn(origin, { text: 'one', threadId: 't' });
  const second = await runVerifiedTurn(origin, { text: 'two', threadId: 't' });
  expect([first.text, second.text]).toEqual(['answer 2', 'answer 3']);
  const snapshot = second.events.find(({ type }) => type === 'MESSAGES_SNAPSHOT')?.messages as { id: string; role: string }[];
  expect(snapshot.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user', 'assistant']);
  expect(new Set(snapshot.map(({ id }) => id)).size).toBe(6);
  const streamed = [...first.events, ...second.events]
    .filter(({ type }) => type === 'TEXT_MESSAGE_START')
    .map(({ messageId }) => messageId);
  expect(streamed).toEqual([snapshot[3]?.id, snapshot[5]?.id]);
  const started = first.events.filter(({ type }) => type === 'TOOL_CALL_START');
  expect(started).toHaveLength(1);
  expect(provider.asked[1]?.messages.at(-1)).toMatchObject({ role: 'tool', tool_call_id: started[0]?.toolCallId });
});
