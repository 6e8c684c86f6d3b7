import { AIMessage, type AIMessageChunk, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { gate } from '../support/gate.js';
import { shownTools, startModelServer } from '../support/model-server.js';
import { until } from '../support/until.js';

const SEARCH = {
  type: 'function',
  function: { name: 'search', description: 'Finds things', parameters: { type: 'object', properties: { q: { type: 'string' } } } },
} as const;

function modelAt(baseURL: string): ChatOpenAI {
  return new ChatOpenAI({ model: 'test-model', apiKey: 'none', configuration: { baseURL }, maxRetries: 0 });
}

async function streamed(model: { stream: ChatOpenAI['stream'] }, text: string): Promise<{ tokens: string[]; whole: AIMessageChunk }> {
  const chunks: AIMessageChunk[] = [];
  for await (const chunk of await model.stream(text)) chunks.push(chunk);
  const whole = chunks.reduce((sum, chunk) => sum.concat(chunk));
  return { tokens: chunks.map((chunk) => chunk.text).filter((token) => token !== ''), whole };
}

describe('the model server, asked by the real provider client', () => {
  test('answers "ok" until it is told otherwise, each time with another id', async () => {
    const server = await startModelServer();
    const model = modelAt(server.baseUrl);
    const first = await model.invoke('Hello');
    const second = await model.invoke('Hello');
    expect([first.text, second.text]).toEqual(['ok', 'ok']);
    expect(first.id).not.toBe(second.id);
    expect(server.requests[0]?.body).toMatchObject({ model: 'test-model', messages: [{ role: 'user', content: 'Hello' }] });
  });

  test('streams a text token by token', async () => {
    const server = await startModelServer();
    server.reply(() => ({ text: 'One two three.\nFour' }));
    const { tokens, whole } = await streamed(modelAt(server.baseUrl), 'Count');
    expect(tokens).toEqual(['One', ' two', ' three.', '\nFour']);
    expect(whole.response_metadata).toMatchObject({ finish_reason: 'stop' });
  });

  test.each([true, false])('calls several tools at once (streamed: %s) and notes what it was shown', async (stream) => {
    const server = await startModelServer({ strict: true });
    server.reply(({ body }) => ({
      toolCalls: [
        { name: 'search', args: { q: 'a long question' } },
        { name: 'search', args: { q: String(body.messages[0]?.content) } },
      ],
    }));
    const model = modelAt(server.baseUrl).bindTools([SEARCH]);
    const message = stream ? (await streamed(model as never, 'Find')).whole : await model.invoke('Find');
    expect(message.tool_calls).toMatchObject([
      { name: 'search', args: { q: 'a long question' } },
      { name: 'search', args: { q: 'Find' } },
    ]);
    expect(new Set(message.tool_calls?.map((call) => call.id)).size).toBe(2);
    expect(shownTools(server.requests[0])).toEqual([
      { name: 'search', description: 'Finds things', parameters: SEARCH.function.parameters },
    ]);
  });

  test('answers with an HTTP error', async () => {
    const server = await startModelServer();
    server.reply(() => ({ status: 429, body: { error: { message: 'slow down' } }, headers: { 'retry-after': '1' } }));
    await expect(modelAt(server.baseUrl).invoke('Hello')).rejects.toMatchObject({ status: 429 });
  });

  test('waits for a gate, and notes that the client went away', async () => {
    const server = await startModelServer();
    const barrier = gate();
    server.reply(({ number }) => (number === 0 ? { text: 'late', gate: barrier } : { hang: true }));
    const late = modelAt(server.baseUrl).invoke('Hello');
    await until(() => barrier.waiting() === 1);
    barrier.open();
    expect((await late).text).toBe('late');
    const leaving = new AbortController();
    const left = expect(modelAt(server.baseUrl).invoke('Hello', { signal: leaving.signal })).rejects.toThrow();
    await until(() => server.requests.length === 2);
    leaving.abort();
    await left;
    await until(() => server.requests[1]?.aborted);
    expect(server.requests[0]?.aborted).toBe(false);
  });

  test('can break off in the middle of an answer', async () => {
    const server = await startModelServer();
    server.reply(() => ({ text: 'one two three', stopAfter: { tokens: 2, how: 'cut' } }));
    await expect(streamed(modelAt(server.baseUrl), 'Count')).rejects.toThrow();
  });
});

describe('a strict model server refuses', () => {
  const call = { id: 'call_1', name: 'search', args: {} };

  test('tool calls whose results are missing', async () => {
    const server = await startModelServer({ strict: true });
    const model = modelAt(server.baseUrl);
    const dangling = [new HumanMessage('a'), new AIMessage({ content: '', tool_calls: [call] }), new HumanMessage('b')];
    await expect(model.invoke(dangling)).rejects.toThrow('missing: call_1');
    const answered = [...dangling.slice(0, 2), new ToolMessage({ tool_call_id: 'call_1', content: 'x' }), new HumanMessage('b')];
    expect((await model.invoke(answered)).text).toBe('ok');
  });

  test('tool results without a call', async () => {
    const server = await startModelServer({ strict: true });
    const stray = [new HumanMessage('a'), new ToolMessage({ tool_call_id: 'call_1', content: 'x' })];
    await expect(modelAt(server.baseUrl).invoke(stray)).rejects.toThrow("a preceding message with 'tool_calls'");
  });

  test('names that providers refuse, names that come twice, and refused schemas', async () => {
    const server = await startModelServer({ strict: true });
    const shown = (...tools: object[]) =>
      modelAt(server.baseUrl).bindTools(tools.map((fields) => ({ ...SEARCH, function: { ...SEARCH.function, ...fields } })));
    await expect(shown({ name: 'a.b' }).invoke('x')).rejects.toThrow('Invalid tool name');
    await expect(shown({}, {}).invoke('x')).rejects.toThrow('unique');
    await expect(shown({ parameters: { anyOf: [] } }).invoke('x')).rejects.toThrow("Invalid schema for function 'search'");
    await expect(shown({ parameters: { type: 'object', properties: { q: { $ref: '#' } } } }).invoke('x')).rejects.toThrow('$ref');
    expect((await shown({}).invoke('x')).text).toBe('ok');
  });
});
