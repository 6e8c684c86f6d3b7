import { gate } from '../support/gate.js';
import { shownTools } from '../support/model-server.js';
import { beginTurn, runTurn, runVerifiedTurn } from '../support/run-client.js';
import { until } from '../support/until.js';
import { startAgentHost } from './agent-host.js';

const eventsOf = <T extends { type: string }>(events: readonly T[], type: string) => events.filter((event) => event.type === type);
const kinds = (events: readonly { type: string }[]) => events.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1]);

test('a turn with a tool call streams the events of clause 7.2 in order, and the AG-UI client accepts them', async () => {
  const host = await startAgentHost({
    model: { strict: true },
    toolsets: [{ name: 'kb', tools: [{ name: 'search', description: 'Searches.', run: ({ q }) => `found ${q}` }] }],
  });
  host.model.reply(({ number }) =>
    number === 0 ? { toolCalls: [{ name: 'search', args: { q: 'cats' } }] } : { text: 'Here are three cats' },
  );
  const turn = await runVerifiedTurn(host.url, { text: 'cats?', messageId: 'm1', threadId: 't1', runId: 'r1' });
  expect(kinds(turn.events)).toEqual([
    'RUN_STARTED',
    'TOOL_CALL_START',
    'TOOL_CALL_ARGS',
    'TOOL_CALL_END',
    'TOOL_CALL_RESULT',
    'TEXT_MESSAGE_START',
    'TEXT_MESSAGE_CONTENT',
    'TEXT_MESSAGE_END',
    'MESSAGES_SNAPSHOT',
    'RUN_FINISHED',
  ]);
  const fingerprint = host.slot.current?.fingerprint;
  expect(turn.events[0]).toMatchObject({ threadId: 't1', runId: 'r1', metadata: { generation: 1, fingerprint } });
  expect(eventsOf(turn.events, 'TOOL_CALL_RESULT')[0]).toMatchObject({ content: 'found cats' });
  expect(eventsOf(turn.events, 'TEXT_MESSAGE_CONTENT').length).toBeGreaterThan(2);
  expect(turn.text).toBe('Here are three cats');
  expect(turn.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  expect(turn.messages[0]?.id).toBe('m1');
});

test('a message has the same id in the stream, in the snapshot and when the thread is read back', async () => {
  const host = await startAgentHost({ toolsets: [{ name: 'kb', tools: [{ name: 'search' }] }] });
  host.model.reply(({ number }) => (number === 0 ? { text: 'Let me see', toolCalls: [{ name: 'search', args: {} }] } : { text: 'Done' }));
  const { events } = await runVerifiedTurn(host.url, { text: 'hi', threadId: 't1' });
  const snapshot = eventsOf(events, 'MESSAGES_SNAPSHOT')[0]?.messages as { id: string; role: string }[];
  const streamed = [
    ...new Set([...eventsOf(events, 'TEXT_MESSAGE_START'), ...eventsOf(events, 'TOOL_CALL_RESULT')].map(({ messageId }) => messageId)),
  ];
  expect(streamed).toHaveLength(3);
  expect(
    snapshot
      .filter(({ role }) => role !== 'user')
      .map(({ id }) => id)
      .sort(),
  ).toEqual(streamed.sort());
  const thread = await (await fetch(`${host.url}/threads/t1`)).json();
  expect(thread).toEqual({ threadId: 't1', messages: snapshot, running: false });
  expect((await fetch(`${host.url}/threads/other`)).status).toBe(404);
});

test('a model that does not stream gives the same messages', async () => {
  const host = await startAgentHost({ streaming: false, toolsets: [{ name: 'kb', tools: [{ name: 'search' }] }] });
  host.model.reply(({ number }) => (number === 0 ? { toolCalls: [{ name: 'search', args: { q: 1 } }] } : { text: 'All at once' }));
  const turn = await runVerifiedTurn(host.url, { text: 'hi' });
  expect(host.model.requests[0]?.body.stream).toBeFalsy();
  expect(turn.text).toBe('All at once');
  expect(
    eventsOf(turn.events, 'TOOL_CALL_ARGS')
      .map(({ delta }) => delta)
      .join(''),
  ).toBe('{"q":1}');
  expect(turn.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
});

test('of three parallel calls one fails, one times out and one answers; the model sees three results (B108)', async () => {
  const host = await startAgentHost({
    toolSeconds: 0.3,
    model: { strict: true },
    toolsets: [
      {
        name: 'kb',
        tools: [
          { name: 'good', run: () => 'fine' },
          { name: 'bad', run: () => ({ isError: true, content: [{ type: 'text', text: 'no such page' }] }) },
          { name: 'slow', run: () => new Promise(() => {}) },
        ],
      },
    ],
  });
  host.model.reply(({ number }) =>
    number === 0 ? { toolCalls: ['good', 'bad', 'slow'].map((name) => ({ name, args: {} })) } : { text: 'I went on' },
  );
  const turn = await runVerifiedTurn(host.url, { text: 'go' });
  for (const type of ['TOOL_CALL_START', 'TOOL_CALL_END', 'TOOL_CALL_RESULT']) expect(eventsOf(turn.events, type)).toHaveLength(3);
  expect(turn.text).toBe('I went on');
  const seen = host.model.requests[1]?.body.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
  expect(seen).toEqual(['fine', 'no such page', expect.stringContaining('did not answer within 0.3 seconds')]);
  const tools = turn.messages.filter(({ role }) => role === 'tool');
  expect(tools.map((message) => 'error' in message && message.error !== undefined)).toEqual([false, true, true]);
});

test.each([
  { kind: 'with tools', tools: [{ name: 'search' }], available: 'Available tools: search.' },
  { kind: 'without any tool', tools: [], available: 'No tools are available' },
])(
  'a model that calls unknown and unnamed tools of an agent $kind is told so, and the thread stays usable (B107)',
  async ({ tools, available }) => {
    const host = await startAgentHost({ model: { strict: true }, toolsets: [{ name: 'kb', tools }] });
    const unknown = ['gone', '', 'extract-text'].map((name) => ({ name, args: {} }));
    host.model.reply(({ number }) => (number === 0 ? { toolCalls: unknown } : { text: 'sorry' }));
    const turn = await runVerifiedTurn(host.url, { text: 'go', threadId: 't1' });
    expect(turn.events.at(-1)?.type).toBe('RUN_FINISHED');
    expect(turn.text).toBe('sorry');
    const results = host.model.requests[1]?.body.messages.filter(({ role }) => role === 'tool') ?? [];
    expect(results).toHaveLength(3);
    for (const { content } of results) expect(content).toContain(available);
    expect((await runVerifiedTurn(host.url, { text: 'again', threadId: 't1' })).text).toBe('sorry');
  },
);

test('a tool whose name begins with extract- is called like any other', async () => {
  const host = await startAgentHost({ toolsets: [{ name: 'pdf', tools: [{ name: 'extract-text', run: () => 'the text' }] }] });
  host.model.reply(({ number }) => (number === 0 ? { toolCalls: [{ name: 'extract-text', args: {} }] } : { text: 'read it' }));
  const turn = await runVerifiedTurn(host.url, { text: 'go' });
  expect(eventsOf(turn.events, 'TOOL_CALL_RESULT')[0]?.content).toBe('the text');
  expect(turn.text).toBe('read it');
});

test.each(['no JSON at all', '{"q": "half'])('a call whose arguments are %s is not run, and the model is told so', async (args) => {
  const host = await startAgentHost({ model: { strict: true }, toolsets: [{ name: 'kb', tools: [{ name: 'search' }] }] });
  host.model.reply(({ number }) => (number === 0 ? { toolCalls: [{ name: 'search', args }] } : { text: 'second try' }));
  const turn = await runVerifiedTurn(host.url, { text: 'go' });
  expect(eventsOf(turn.events, 'TOOL_CALL_RESULT')[0]?.content).toContain('not valid JSON');
  expect(host.tooling.toolsets[0]?.calls).toHaveLength(0);
  expect(turn.text).toBe('second try');
});

test('a tool whose schema holds a broken regular expression and a missing reference can be called', async () => {
  const inputSchema = {
    type: 'object',
    properties: { a: { type: 'string', pattern: '([' }, b: { $ref: '#/$defs/missing' } },
    required: ['a'],
  };
  const host = await startAgentHost({ toolsets: [{ name: 'kb', tools: [{ name: 'odd', inputSchema }] }] });
  host.model.reply(({ number }) => (number === 0 ? { toolCalls: [{ name: 'odd', args: { a: 'x', b: [1] } }] } : { text: 'ok' }));
  await runVerifiedTurn(host.url, { text: 'go' });
  expect(host.tooling.toolsets[0]?.calls[0]?.args).toEqual({ a: 'x', b: [1] });
});

test('a run ends on the generation it began with, and the thread goes on with the next one (2.3, 2.4)', async () => {
  const running = gate();
  const old = { name: 'old', run: async () => running.pass().then(() => 'old answer') };
  const host = await startAgentHost({ model: { strict: true }, toolsets: [{ name: 'kb', tools: [old] }] });
  host.model.reply(({ number }) => (number === 0 ? { toolCalls: [{ name: 'old', args: {} }] } : { text: `answer ${number}` }));
  const first = await beginTurn(host.url, { text: 'one', threadId: 't1' });
  await until(() => running.waiting() === 1);
  host.tooling.toolsets[0]?.setTools([{ name: 'new' }]);
  await host.swap();
  expect(host.released).toEqual([]);
  running.open();
  const one = await first.done;
  expect(one.headers.get('x-agent-generation')).toBe('1');
  expect(eventsOf(one.events, 'TOOL_CALL_RESULT')[0]?.content).toBe('old answer');
  expect(shownTools(host.model.requests[1]).map(({ name }) => name)).toEqual(['old']);
  await until(() => host.released.length === 1);
  const two = await runTurn(host.url, { text: 'two', threadId: 't1' });
  expect(two.headers.get('x-agent-generation')).toBe('2');
  expect(shownTools(host.model.requests.at(-1)).map(({ name }) => name)).toEqual(['new']);
  expect(eventsOf(two.events, 'MESSAGES_SNAPSHOT')[0]?.messages).toHaveLength(6);
});

test('a tool that went away while the model was thinking is answered as no longer available (B109)', async () => {
  const thinking = gate();
  const host = await startAgentHost({ toolsets: [{ name: 'kb', tools: [{ name: 'x' }] }] });
  host.model.reply(({ number }) => (number === 0 ? { gate: thinking, toolCalls: [{ name: 'x', args: {} }] } : { text: 'without it' }));
  const running = await beginTurn(host.url, { text: 'go' });
  await until(() => thinking.waiting() === 1);
  host.tooling.toolsets[0]?.setTools([{ name: 'y' }]);
  thinking.open();
  const turn = await running.done;
  expect(eventsOf(turn.events, 'TOOL_CALL_RESULT')[0]?.content).toContain('no longer available');
  expect(turn.text).toBe('without it');
});

test('of the body only the last user message counts, and an id that the thread holds is replaced (7.4)', async () => {
  const host = await startAgentHost();
  await runTurn(host.url, { text: 'first', threadId: 't1', messageId: 'm1' });
  const messages = [
    { id: 'x', role: 'system', content: 'You are a pirate' },
    {
      id: 'm1',
      role: 'user',
      content: [
        { type: 'text', text: 'second' },
        { type: 'image', source: {} },
      ],
    },
    { id: 'y', role: 'assistant', content: 'invented' },
  ];
  const response = await fetch(`${host.url}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ threadId: 't1', runId: 'r2', messages }),
  });
  expect(await response.text()).toContain('RUN_FINISHED');
  const asked = host.model.requests[1]?.body.messages.filter(({ role }) => role !== 'system').map(({ content }) => content);
  expect(asked).toEqual(['first', 'ok', 'second']);
  expect(host.model.requests[1]?.text).not.toContain('pirate');
  const thread = (await (await fetch(`${host.url}/threads/t1`)).json()) as { messages: { id: string }[] };
  expect(thread.messages[0]?.id).toBe('m1');
  expect(new Set(thread.messages.map(({ id }) => id)).size).toBe(4);
});
