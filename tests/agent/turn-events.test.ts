import { AIMessage, AIMessageChunk } from '@langchain/core/messages';
import { TurnEvents } from '../../src/agent/turn-events.js';

type Piece = { id?: string; index?: number; name?: string; args?: string };

/** The events of one answer that comes in these pieces, and of the complete answer after them. */
function eventsOf(pieces: readonly Piece[], calls: readonly { id: string; name: string; args: Record<string, unknown> }[]) {
  const events = new TurnEvents([]);
  const metadata = { langgraph_checkpoint_ns: 'model_request:1' };
  const streamed = pieces.flatMap((piece) =>
    events.read([
      'messages',
      [new AIMessageChunk({ id: 'a', content: '', tool_call_chunks: [{ type: 'tool_call_chunk', ...piece }] }), metadata],
    ]),
  );
  const complete = new AIMessage({ id: 'a', content: '', tool_calls: [...calls] });
  return [...streamed, ...events.read(['updates', { model_request: { messages: [complete] } }])].map((event) =>
    'callId' in event ? `${event.type} ${event.callId}${'delta' in event ? ` ${event.delta}` : ''}` : event.type,
  );
}

const call = (id: string, args: Record<string, unknown> = {}) => ({ id, name: 'search', args });

test('pieces of parallel calls are told apart by their index', () => {
  const pieces = [
    { id: '1', index: 0, name: 'search' },
    { id: '2', index: 1, name: 'search' },
    { index: 0, args: '{"a":1}' },
    { index: 1, args: '{"b":2}' },
  ];
  expect(eventsOf(pieces, [call('1', { a: 1 }), call('2', { b: 2 })])).toEqual([
    'call-start 1',
    'call-start 2',
    'call-args 1 {"a":1}',
    'call-args 2 {"b":2}',
    'call-end 1',
    'call-end 2',
  ]);
});

test('pieces without an index belong to the call that began last', () => {
  const pieces = [{ id: '1', name: 'search', args: '{"a"' }, { args: ':1}' }, { id: '2', name: 'search', args: '{}' }];
  expect(eventsOf(pieces, [call('1', { a: 1 }), call('2')])).toEqual([
    'call-start 1',
    'call-args 1 {"a"',
    'call-args 1 :1}',
    'call-start 2',
    'call-args 2 {}',
    'call-end 1',
    'call-end 2',
  ]);
});

test('a call without streamed arguments, and one that was not streamed at all, come with the complete answer', () => {
  expect(eventsOf([{ id: '1', index: 0, name: 'search', args: '' }], [call('1'), call('2', { b: 2 })])).toEqual([
    'call-start 1',
    'call-args 1 {}',
    'call-start 2',
    'call-args 2 {"b":2}',
    'call-end 1',
    'call-end 2',
  ]);
});

test('what LangGraph streams besides is ignored', () => {
  const events = new TurnEvents([]);
  for (const chunk of [
    undefined,
    'x',
    ['custom', 1],
    ['messages', 1],
    ['messages', [{}, {}]],
    ['updates', null],
    ['updates', { node: null }],
  ]) {
    expect(events.read(chunk)).toEqual([]);
  }
});
