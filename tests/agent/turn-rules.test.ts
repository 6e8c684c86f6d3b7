import { getMaxListeners } from 'node:events';
import { AIMessage, AIMessageChunk, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tidyAnswer, turnRules } from '../../src/agent/turn-rules.js';

const known = new Set(['search']);
const tidy = (answer: AIMessage, messages = [new HumanMessage({ id: 'h', content: 'hi' })]) => tidyAnswer(answer, { messages, known });

test('a sound answer is stored as it is', () => {
  const answer = new AIMessage({ id: 'a', content: 'ok', tool_calls: [{ id: '1', name: 'search', args: {} }] });
  expect(tidy(answer)).toBe(answer);
});

test('an id that the thread holds gets a number', () => {
  expect(tidy(new AIMessage({ id: 'h', content: 'ok' })).id).toBe('h-2');
});

test.each([
  ['', 'unnamed_tool'],
  ['a b/c', 'a_b_c'],
  ['extract-it', 'extract_it'],
  ['x'.repeat(80), 'x'.repeat(64)],
  ['gone', 'gone'],
])('a call of a tool named "%s" is stored under a name that providers accept', (name, stored) => {
  const [call] = tidy(new AIMessage({ id: 'a', content: '', tool_calls: [{ id: '1', name, args: {} }] })).tool_calls ?? [];
  expect(call).toMatchObject({ id: '1', name: stored });
});

test('a call without id gets one', () => {
  expect(tidy(new AIMessage({ id: 'a', content: '', tool_calls: [{ name: 'search', args: {} }] })).tool_calls?.[0]?.id).toMatch(/^call_/);
});

test('arguments that break off are kept as broken, although LangChain completes them', () => {
  const chunk = new AIMessageChunk({ id: 'a', content: '', tool_call_chunks: [{ id: '1', index: 0, name: 'search', args: '{"q": "ha' }] });
  expect(chunk.tool_calls?.[0]?.args).toEqual({ q: 'ha' });
  const tidied = tidy(chunk);
  expect(tidied.tool_calls).toMatchObject([{ id: '1', name: 'search', args: {} }]);
  expect(tidied.invalid_tool_calls).toMatchObject([{ id: '1', args: '{"q": "ha' }]);
});

test('parallel calls may listen to the signal that they share as often as they need (11.4)', async () => {
  const { wrapToolCall } = turnRules(['search']);
  if (typeof wrapToolCall !== 'function') throw new Error('The rule does not wrap tool calls.');
  const { signal } = new AbortController();
  const result = new ToolMessage({ content: 'found', tool_call_id: '1' });
  const request = { toolCall: { id: '1', name: 'search', args: {} }, tool: {}, state: { messages: [] }, runtime: { signal } };
  expect(await wrapToolCall(request as never, async () => result)).toBe(result);
  expect(getMaxListeners(signal)).toBe(Number.POSITIVE_INFINITY);
});
