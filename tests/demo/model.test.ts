import { AIMessage, type AIMessageChunk, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { createAgent } from 'langchain';
import { z } from 'zod';
import { demoBanner } from '../../src/demo/banner.js';
import { demoEnvironment } from '../../src/demo/demo.js';
import { DemoModel } from '../../src/demo/model.js';

function searchTool(description: string) {
  return tool(({ query }) => `Found for ${query}`, { name: 'search_knowledge', description, schema: z.object({ query: z.string() }) });
}

const manual = () => searchTool('Searches the manual.');

async function ask(question: string, tools: ReturnType<typeof searchTool>[]) {
  const agent = createAgent({ model: new DemoModel(), tools });
  const { messages } = await agent.invoke({ messages: [{ role: 'user', content: question }] });
  return messages;
}

test('an agent on the demo model calls the tool that fits and answers with what it returned', async () => {
  const messages = await ask('What does the manual say about refreshing?', [manual()]);
  expect(messages.map((message) => message.type)).toEqual(['human', 'ai', 'tool', 'ai']);
  expect(messages.at(-1)?.text).toBe('search_knowledge answered:\n\nFound for What does the manual say about refreshing?');
});

test('an agent on the demo model says that no tool fits and lists what it has', async () => {
  const messages = await ask('Anything new in the announcements?', [manual()]);
  expect(messages.map((message) => message.type)).toEqual(['human', 'ai']);
  expect(messages.at(-1)?.text).toMatch(/^None of my tools fits this question.*I have: search_knowledge\.$/);
});

test('the same question calls the tool once its description gained the announcements', async () => {
  const messages = await ask('Anything new in the announcements?', [searchTool('Searches the manual and the announcements.')]);
  expect(messages.at(-1)?.text).toContain('Found for Anything new in the announcements?');
});

test('without any tool it says so', async () => {
  expect((await ask('What does the manual say?', [])).at(-1)?.text).toContain('I have no tools at all.');
});

test('the answer streams word by word, and the tool call streams as a chunk', async () => {
  const model = new DemoModel().bindTools([manual()]);
  const chunks: AIMessageChunk[] = [];
  for await (const chunk of await model.stream('Hello there!')) chunks.push(chunk);
  const tokens = chunks.map((chunk) => chunk.text).filter((text) => text !== '');
  expect(tokens.length).toBeGreaterThan(10);
  expect(tokens.join('')).toMatch(/^None of my tools fits this question/);

  let call: AIMessageChunk | undefined;
  for await (const chunk of await model.stream('Search the manual')) call = call === undefined ? chunk : call.concat(chunk);
  expect(call?.tool_calls).toEqual([
    { name: 'search_knowledge', args: { query: 'Search the manual' }, id: expect.stringMatching(/^call_/), type: 'tool_call' },
  ]);
});

test('only the last question counts, and every call has an id of its own', async () => {
  const model = new DemoModel().bindTools([manual()]);
  const first = await model.invoke('The manual, please');
  const id = first.tool_calls?.[0]?.id ?? '';
  const second = await model.invoke([
    new HumanMessage('The manual, please'),
    new AIMessage({ content: '', tool_calls: first.tool_calls }),
    new ToolMessage({ content: 'old', tool_call_id: id, name: 'search_knowledge' }),
    new AIMessage('old'),
    new HumanMessage('The manual again, please'),
  ]);
  expect(second.tool_calls?.[0]?.args).toEqual({ query: 'The manual again, please' });
  expect(second.tool_calls?.[0]?.id).not.toBe(id);
});

test('a tool that failed is reported as failed', async () => {
  const model = new DemoModel().bindTools([manual()]);
  const answer = await model.invoke([
    new HumanMessage('The manual, please'),
    new AIMessage({ content: '', tool_calls: [{ name: 'search_knowledge', args: {}, id: 'c1' }] }),
    new ToolMessage({ content: 'no answer', tool_call_id: 'c1', name: 'search_knowledge', status: 'error' }),
  ]);
  expect(answer.text).toBe('search_knowledge failed:\n\nno answer');
});

test("the banner gives the file to edit, each toolset's URL, and curl lines with a whole request body", () => {
  const options = {
    baseUrl: 'http://127.0.0.1:8000',
    files: { 'knowledge-base': '/tmp/d/kb.json', places: '/tmp/d/places.json' },
    urls: { 'knowledge-base': 'http://127.0.0.1:9000/kb', places: 'http://127.0.0.1:9000/places' },
  };
  const banner = demoBanner(options);
  for (const url of Object.values(options.urls)) expect(banner).toContain(url);
  expect(banner).not.toContain('Refresh by hand');
  expect(demoBanner({ ...options, adminToken: 'own' })).toContain(
    'MCP_AGENT_API_ADMIN_TOKEN=own npx mcp-agent-api refresh http://127.0.0.1:8000\n',
  );
  expect(banner).toContain('Edit /tmp/d/kb.json');
  const bodies = [...banner.matchAll(/curl -sN http:\/\/127\.0\.0\.1:8000\/runs .* -d '(.*)'/g)].map((match) => JSON.parse(match[1] ?? ''));
  expect(bodies.map((body) => body.messages[0].content)).toEqual([
    'What does the manual say about refreshing?',
    'Anything new in the announcements?',
  ]);
  expect(bodies[0]).toMatchObject({
    threadId: expect.any(String),
    runId: expect.any(String),
    messages: [{ id: expect.any(String), role: 'user' }],
  });
});

test('the demo keeps what the user set, but for what would lead out of the demo', () => {
  const env = demoEnvironment(
    {
      PORT: '9000',
      MCP_URL: 'https://example.com',
      PROVIDER_BASE_URL: 'https://example.com',
      MCP_AGENT_CHECKPOINT: 'postgres://x',
      LOG_FORMAT: 'json',
    },
    'http://127.0.0.1:1/mcp-index',
  );
  expect(env).toMatchObject({ PORT: '9000', MCP_URL: 'http://127.0.0.1:1/mcp-index', MCP_AGENT_API_UI: 'on', LOG_FORMAT: 'json' });
  expect(env.PROVIDER_BASE_URL).toBeUndefined();
  expect(env.MCP_AGENT_CHECKPOINT).toBeUndefined();
});

test('the demo can be refreshed by hand where only this machine reaches it, and nowhere else without a token of the user', () => {
  const tokenFor = (env: Record<string, string>) => demoEnvironment(env, 'http://127.0.0.1:1/mcp-index').MCP_AGENT_API_ADMIN_TOKEN;
  expect(tokenFor({})).toBe('demo');
  expect(tokenFor({ HOST: '0.0.0.0' })).toBeUndefined();
  expect(tokenFor({ HOST: '0.0.0.0', MCP_AGENT_API_ADMIN_TOKEN: 'mine' })).toBe('mine');
});
