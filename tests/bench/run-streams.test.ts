import { checkOf } from '../../bench/load/stream-check.js';
import { ANSWER_PIECES, ARGUMENT_PIECES, CALL_A_TOOL, replyTo } from '../../bench/model/answers.js';

const tools = (revision: number) => [
  { function: { name: 'own_tool', description: 'A tool of the contestant.' } },
  { function: { name: 't0_find', description: `Finds. [revision ${revision} at 12.500]` } },
];

const question = { role: 'user', content: `${CALL_A_TOOL} which invoices are open?` };

const callIdOf = (pieces: readonly string[]): string => JSON.parse(pieces[0] ?? '').choices[0].delta.tool_calls[0].id;

describe('the model of the runs benchmark', () => {
  test('calls the tool of the fleet, and answers when the result is there', () => {
    const call = replyTo({ messages: [question], tools: tools(3) }, 1);
    expect(JSON.parse(call.pieces[0] ?? '').choices[0].delta.tool_calls[0].function.name).toBe('t0_find');
    const asked = { role: 'assistant', tool_calls: [{ id: callIdOf(call.pieces) }] };
    const answer = replyTo({ messages: [question, asked, { role: 'tool', content: '{}' }], tools: tools(3) }, 2);
    expect(answer.pieces.map((piece) => JSON.parse(piece).choices[0]?.delta.content ?? '').join('')).toBe(ANSWER_PIECES.join(''));
    expect(answer.sameTools).toBe(true);
  });

  test('notices that the tools are others than when it called one', () => {
    const call = replyTo({ messages: [question], tools: tools(3) }, 1);
    const asked = { role: 'assistant', tool_calls: [{ id: callIdOf(call.pieces) }] };
    expect(replyTo({ messages: [question, asked, { role: 'tool', content: '{}' }], tools: tools(4) }, 2).sameTools).toBe(false);
  });
});

describe('the check of a run’s stream', () => {
  const whole = [
    { type: 'RUN_STARTED', metadata: { generation: 7 } },
    ...ARGUMENT_PIECES.map((delta) => ({ type: 'TOOL_CALL_ARGS', delta })),
    { type: 'TOOL_CALL_RESULT', content: '{"query":"open invoices"}' },
    ...ANSWER_PIECES.map((delta) => ({ type: 'TEXT_MESSAGE_CONTENT', delta })),
    { type: 'RUN_FINISHED' },
  ];
  const check = (events: readonly object[]) => {
    const checked = checkOf('ag-ui', 'tool');
    for (const event of events) checked.take(undefined, JSON.stringify(event));
    return checked;
  };

  test('finds nothing wrong with a whole stream, and reads its generation', () => {
    expect(check(whole).fault()).toBeUndefined();
    expect(check(whole).generation).toBe(7);
  });

  test.each([
    ['its first event', 0],
    ['a piece of the arguments', 2],
    ['the result of the call', 4],
    ['a token of the answer', 9],
    ['its last event', whole.length - 1],
  ])('finds a stream without %s', (_what, missing) => {
    expect(check(whole.filter((_event, number) => number !== missing)).fault()).toBeDefined();
  });

  test('waits for the first event of each form', () => {
    expect(checkOf('ag-ui', 'plain').take(undefined, '{"type":"RUN_STARTED"}')).toBe(true);
    expect(checkOf('langgraph', 'plain').take('metadata', '{}')).toBe(true);
    expect(checkOf('langgraph', 'plain').take('messages', '[{"type":"AIMessageChunk","content":""},{}]')).toBe(false);
  });
});
