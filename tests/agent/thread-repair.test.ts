import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import type { StateSnapshot } from '@langchain/langgraph';
import { repairOf } from '../../src/agent/thread-repair.js';

const human = (id: string) => new HumanMessage({ id, content: 'hi' });
const asks = (id: string, ...callIds: string[]) =>
  new AIMessage({ id, content: '', tool_calls: callIds.map((callId) => ({ id: callId, name: 'search', args: {} })) });
const result = (callId: string) => new ToolMessage({ id: `result-${callId}`, content: 'found', tool_call_id: callId });
const stateOf = (messages: BaseMessage[], pending: ToolMessage[] = []) =>
  ({
    values: { messages: [...messages, ...pending] },
    tasks: pending.map((message) => ({ result: { messages: [message] } })),
  }) as unknown as StateSnapshot;
const shown = (messages: BaseMessage[]) =>
  messages.map((message) => (ToolMessage.isInstance(message) ? `${message.tool_call_id}: ${message.status ?? 'ok'}` : (message.id ?? '')));

test.each([
  ['an empty thread', []],
  ['a thread without tools', [human('h'), new AIMessage({ id: 'a', content: 'hello' })]],
  [
    'answered calls in another order',
    [human('h'), asks('a', '1', '2'), result('2'), result('1'), new AIMessage({ id: 'b', content: 'ok' })],
  ],
])('%s needs no repair', (_what, messages) => {
  expect(repairOf(stateOf(messages))).toEqual([]);
});

test('calls without results at the end of a thread are answered by appending', () => {
  expect(shown(repairOf(stateOf([human('h'), asks('a', '1', '2'), result('2')])))).toEqual(['1: error']);
});

test('a result that a parallel call brought before the run ended is kept', () => {
  expect(shown(repairOf(stateOf([human('h'), asks('a', '1', '2')], [result('1')])))).toEqual(['1: ok', '2: error']);
});

test('a call that was left open further up is answered in its place', () => {
  const messages = [human('h'), asks('a', '1'), human('i'), asks('b', '2'), result('2')];
  expect(shown(repairOf(stateOf(messages))).slice(1)).toEqual(['h', 'a', '1: error', 'i', 'b', '2: ok']);
});

test('a result without its call is removed', () => {
  expect(shown(repairOf(stateOf([human('h'), result('9')]))).slice(1)).toEqual(['h']);
});
