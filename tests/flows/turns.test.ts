import type { ModelReply, ModelRequest } from '../support/model-server.js';
import * as answers from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { beginTurn, runTurn, runVerifiedTurn } from '../support/run-client.js';
import { type SdkEra, startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';
import { type Fleet, startFleet, tool } from './fleet.js';

type Event = { readonly type: string; readonly [field: string]: unknown };

const having = (events: readonly Event[], type: string) => events.filter((event) => event.type === type);

/** The model calls these tools at once and then says "done". */
function callAtOnce(names: readonly string[]): (request: ModelRequest) => ModelReply {
  return ({ body }) =>
    body.messages.at(-1)?.role === 'user'
      ? { text: 'Let me see', toolCalls: names.map((name) => ({ name, args: { from: name } })) }
      : { text: 'done' };
}

async function inFlight({ baseUrl }: Fleet): Promise<number> {
  const text = await (await fetch(`${baseUrl}/metrics`)).text();
  return Number(/^mcp_agent_runs_in_flight (\d+)$/m.exec(text)?.[1]);
}

test.each<SdkEra>(['legacy', 'stateless', 'modern'])(
  'of parallel calls one answers, one throws, one hangs, one is refused and one is gone: each has its result, and the run goes on (%s)',
  async (era) => {
    const throws = () => {
      throw new Error('the tool fell over');
    };
    const offered = [
      { ...tool('good', 'one'), run: () => 'fine' },
      { ...tool('refuses', 'one'), run: () => ({ isError: true, content: [{ type: 'text', text: 'no such page' }] }) },
      { ...tool('throws', 'one'), run: throws },
      { ...tool('hangs', 'one'), run: () => new Promise<string>(() => undefined) },
    ];
    const toolset = await startSdkToolset({ era, tools: [...offered, tool('gone', 'one')] });
    const fleet = await startFleet(
      { toolset: toolset.url },
      { env: { MCP_AGENT_API_TOOL_SECONDS: '1', MCP_AGENT_API_POLLING_SECONDS: '30' } },
    );
    // Nobody is told, so the agent still shows the tool that is gone.
    toolset.setTools(offered, { notify: false });
    const names = ['good', 'refuses', 'throws', 'hangs', 'gone'];
    fleet.model.reply(callAtOnce(names));
    const turn = await runVerifiedTurn(fleet.baseUrl, { text: 'go', threadId: 't1' });
    expect(turn.events.at(-1)?.type).toBe('RUN_FINISHED');
    const results = new Map(having(turn.events, 'TOOL_CALL_RESULT').map(({ toolCallId, content }) => [toolCallId, content]));
    const starts = having(turn.events, 'TOOL_CALL_START');
    expect(starts.map(({ toolCallName }) => toolCallName)).toEqual(names);
    expect(starts.map(({ toolCallId }) => results.get(toolCallId))).toEqual([
      'fine',
      'no such page',
      expect.stringMatching(/fell over|refused/),
      expect.stringContaining('did not answer within 1 seconds'),
      expect.stringContaining('no longer available'),
    ]);
    // That the tool is gone is a signal by itself: the next run no longer shows it.
    await until(async () => !('gone' in (await fleet.shown())));
  },
);

test('every id of the stream is found again in the snapshot and when the thread is read back', async () => {
  const toolset = await startSdkToolset({ era: 'legacy', tools: [tool('a', 'one'), tool('b', 'one')] });
  const fleet = await startFleet({ toolset: toolset.url });
  fleet.model.reply(callAtOnce(['a', 'b']));
  const { events } = await runVerifiedTurn(fleet.baseUrl, { text: 'go', threadId: 't1', messageId: 'of the user' });
  const [snapshot] = having(events, 'MESSAGES_SNAPSHOT');
  const thread = (await (await fetch(`${fleet.baseUrl}/threads/t1`)).json()) as { messages: unknown };
  expect(thread.messages).toEqual(snapshot?.messages);
  const texts = having(events, 'TEXT_MESSAGE_START').map(({ messageId }) => messageId);
  const calls = having(events, 'TOOL_CALL_START');
  const results = having(events, 'TOOL_CALL_RESULT');
  expect(calls.map(({ parentMessageId }) => parentMessageId)).toEqual([texts[0], texts[0]]);
  expect(snapshot?.messages).toEqual([
    { id: 'of the user', role: 'user', content: 'go' },
    {
      id: texts[0],
      role: 'assistant',
      content: 'Let me see',
      toolCalls: calls.map(({ toolCallId, toolCallName }) => ({
        id: toolCallId,
        type: 'function',
        function: { name: toolCallName, arguments: JSON.stringify({ from: toolCallName }) },
      })),
    },
    ...calls.map(({ toolCallId }) => {
      const result = results.find((candidate) => candidate.toolCallId === toolCallId);
      return { id: result?.messageId, role: 'tool', content: result?.content, toolCallId };
    }),
    { id: texts[1], role: 'assistant', content: 'done' },
  ]);
});

test('thirty rounds of tool calls in one turn are not too many', async () => {
  const toolset = await startSdkToolset({ era: 'legacy', tools: [tool('again', 'one')] });
  const fleet = await startFleet({ toolset: toolset.url });
  fleet.model.reply(({ body }) => {
    const round = body.messages.filter(({ role }) => role === 'tool').length;
    return round < 30 ? { toolCalls: [{ name: 'again', args: { round } }] } : { text: 'enough' };
  });
  const turn = await runTurn(fleet.baseUrl, { text: 'go' });
  expect(turn.text).toBe('enough');
  expect(toolset.calls.map(({ args }) => args.round)).toEqual(Array.from({ length: 30 }, (_, round) => round));
});

/** Whether the toolset learned that its call was cancelled: in the 2025 era by a notification, later by the closed answer. */
function sawCancel(toolset: RawToolset, gone: () => boolean): boolean {
  if (toolset.era === 'modern') return gone();
  const call = toolset.requests.find(({ rpc }) => rpc === 'tools/call')?.body as { id: unknown } | undefined;
  const cancels = toolset.requests.filter(({ rpc }) => rpc === 'notifications/cancelled');
  return cancels.some(({ body }) => (body as { params: { requestId: unknown } }).params.requestId === call?.id);
}

test.each(['legacy', 'modern'] as const)(
  'a client that leaves during a tool call ends the call at the toolset and the run within a second, and the thread goes on (%s)',
  async (era) => {
    const toolset = await startRawToolset({ era, tools: [tool('slow', 'one')] });
    let gone = false;
    toolset.on('tools/call', (exchange) => {
      exchange.gone.addEventListener('abort', () => {
        gone = true;
      });
    });
    const fleet = await startFleet({ toolset: toolset.url });
    fleet.model.reply(callAtOnce(['slow']));
    const running = await beginTurn(fleet.baseUrl, { text: 'go', threadId: 't1' });
    await until(() => toolset.counts()['tools/call'] === 1);
    const leftAt = performance.now();
    running.leave();
    await until(() => sawCancel(toolset, () => gone));
    await until(async () => (await inFlight(fleet)) === 0);
    // A second is the contract's; the machine that runs the tests may be busy.
    expect(performance.now() - leftAt).toBeLessThan(3_000);
    fleet.model.reply(() => ({ text: 'back' }));
    const next = await runVerifiedTurn(fleet.baseUrl, { text: 'again', threadId: 't1' });
    expect(next.text).toBe('back');
    // The strict model server refuses a call without a result.
    const roles = fleet.model.requests.at(-1)?.body.messages.map(({ role }) => role);
    expect(roles?.filter((role) => role !== 'system')).toEqual(['user', 'assistant', 'tool', 'user']);
  },
);

test('a client that leaves while the model answers ends the request to the model and the run, and the thread goes on', async () => {
  const toolset = await startSdkToolset({ era: 'legacy', tools: [tool('a', 'one')] });
  const fleet = await startFleet({ toolset: toolset.url });
  fleet.model.reply(() => ({ text: 'one two three', stopAfter: { tokens: 2, how: 'hang' } }));
  const running = await beginTurn(fleet.baseUrl, { text: 'go', threadId: 't1' });
  await until(() => running.text() === 'one two');
  const leftAt = performance.now();
  running.leave();
  await until(() => fleet.model.requests[0]?.aborted);
  await until(async () => (await inFlight(fleet)) === 0);
  expect(performance.now() - leftAt).toBeLessThan(3_000);
  fleet.model.reply(() => ({ text: 'back' }));
  expect((await runVerifiedTurn(fleet.baseUrl, { text: 'again', threadId: 't1' })).text).toBe('back');
});

test('a toolset that dies during a call is an error result for the model, and the run goes on', async () => {
  const toolset = await startRawToolset({ tools: [tool('fragile', 'one')] });
  const other = await startSdkToolset({ era: 'modern', tools: [tool('sound', 'one')] });
  toolset.on('tools/call', answers.destroy);
  const fleet = await startFleet({ toolset: toolset.url, other: other.url });
  fleet.model.reply(callAtOnce(['fragile', 'sound']));
  const turn = await runVerifiedTurn(fleet.baseUrl, { text: 'go' });
  expect(turn.text).toBe('Let me seedone');
  expect(
    having(turn.events, 'TOOL_CALL_RESULT')
      .map(({ content }) => content)
      .sort(),
  ).toEqual([expect.stringContaining('may or may not have run'), '{"from":"sound"}']);
  expect(toolset.counts()['tools/call']).toBe(1);
});
