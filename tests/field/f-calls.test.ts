import { startFleet, tool } from '../flows/fleet.js';
import { gate } from '../support/gate.js';
import { type Answer, destroy, destroyMidway, pass, respond, rpcError, sse } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { beginTurn, runTurn } from '../support/run-client.js';
import { until } from '../support/until.js';
import { toolTurn } from './tool-turn.js';

const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };
const ERAS = ['legacy', 'modern', 'stateless'] as const;

/** A toolset whose tool `write` counts how often it ran, and then answers by `answer`. */
async function countingToolset(era: (typeof ERAS)[number], answer: Answer) {
  const toolset = await startRawToolset({ era, tools: [tool('write', 'Writes')] });
  toolset.calls.set('write', () => answer);
  const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
  return { toolset, fleet, ran: () => toolset.received.length };
}

describe('a tool that has run and whose answer is lost', () => {
  test.each(ERAS)('B48: is not called again, and the model is told that the outcome is unknown (%s)', async (era) => {
    const { fleet, ran } = await countingToolset(era, destroy);
    const { result, events } = await toolTurn(fleet, 'write');
    expect(result).toMatch(/outcome is unknown/);
    expect(ran()).toBe(1);
    expect(events.at(-1)?.type).toBe('RUN_FINISHED');
  });

  const unknown: readonly [string, Answer][] = [
    ['breaks off in the middle of its JSON', destroyMidway()],
    ['is an event stream that ends without it', sse([': working\n\n'])],
    ['is an event stream that is reset', sse([': working\n\n'], { end: 'rst' })],
  ];
  const refused: readonly [string, Answer][] = [
    ['is 502 of a proxy', respond({ status: 502, body: 'Bad gateway' })],
    ['is 504 of a proxy', respond({ status: 504, body: 'Upstream timed out' })],
    ['is 503 with "Session not found"', rpcError(-32001, 'Session not found', { status: 503 })],
    ['is 200 with -32001 "Session not found"', rpcError(-32001, 'Session not found')],
    ['is 200 with -32603', rpcError(-32603, 'Internal error')],
    ['is an HTML page', respond({ headers: { 'content-type': 'text/html' }, body: '<h1>Sign in</h1>' })],
    ['is 429 with Retry-After', respond({ status: 429, headers: { 'retry-after': '0' } })],
  ];

  test('B48, variant: or that answers with anything but a result, is not called again, and the run goes on', async () => {
    const answers = [...unknown, ...refused];
    const toolsets = await Promise.all(answers.map((_answer, number) => startRawToolset({ tools: [tool(`write${number}`, 'Writes')] })));
    const fleet = await startFleet(Object.fromEntries(toolsets.map(({ url }, number) => [`toolset${number}`, url])), { env: NO_POLL });
    for (const [number, toolset] of toolsets.entries()) toolset.calls.set(`write${number}`, () => answers[number]?.[1] ?? pass);
    fleet.model.reply(({ body }) =>
      body.messages.at(-1)?.role === 'tool'
        ? { text: 'done' }
        : { toolCalls: answers.map((_answer, number) => ({ name: `write${number}`, args: {}, id: `call ${number}` })) },
    );
    const { events } = await runTurn(fleet.baseUrl, { text: 'Go' });
    for (const [number, [what]] of answers.entries()) {
      const result = events.find(({ type, toolCallId }) => type === 'TOOL_CALL_RESULT' && toolCallId === `call ${number}`)?.content;
      const told = String(result)
        .replace(/^Error: .*outcome is unknown.*$/, 'outcome unknown')
        .replace(/^Error: .*$/, 'error');
      const expected = number < unknown.length ? 'outcome unknown' : expect.stringMatching(/^(outcome unknown|error)$/);
      expect({ what, told, ran: toolsets[number]?.received.length }).toEqual({ what, told: expected, ran: 1 });
    }
    expect(events.at(-1)?.type).toBe('RUN_FINISHED');
  });
});

describe('a call that met a lost session before it could run', () => {
  const refusals: readonly [string, Answer][] = [
    ['404', respond({ status: 404 })],
    ['404 with -32001', rpcError(-32001, 'Session not found', { status: 404 })],
    ['400 "Server not initialized"', rpcError(-32000, 'Bad Request: Server not initialized', { status: 400 })],
  ];
  test.each(refusals)('B48: (%s) is made once more on the new session, and runs once', async (_what, answer) => {
    const { toolset, fleet, ran } = await countingToolset('legacy', respond({ status: 500 }));
    toolset.calls.delete('write');
    toolset.once('tools/call', answer);
    expect((await toolTurn(fleet, 'write')).result).toBe('{}');
    expect(ran()).toBe(1);
    expect(toolset.counts()).toMatchObject({ initialize: 2, 'tools/call': 2 });
  });

  test('B48, variant: twice in a row is made once more only, and the model is told', async () => {
    const { toolset, fleet, ran } = await countingToolset('legacy', pass);
    toolset.on('tools/call', respond({ status: 404 }));
    expect((await toolTurn(fleet, 'write')).result).toMatch(/^Error: /);
    expect(toolset.counts()['tools/call']).toBe(2);
    expect(ran()).toBe(0);
  });
});

describe.each(ERAS)('a run that began before its server was restarted (%s)', (era) => {
  test('B50: makes its next call on the new connection, also when the tools have changed meanwhile', async () => {
    const first = await startRawToolset({ era, tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: first.url }, { env: { ...NO_POLL, MCP_AGENT_API_REFRESH_SECONDS: '0.2' } });
    const restarted = gate();
    fleet.model.reply(async ({ body }) => {
      const results = body.messages.filter(({ role }) => role === 'tool').length;
      if (results === 1) await restarted.pass();
      return results === 2 ? { text: 'done' } : { toolCalls: [{ name: 'a', args: { call: results + 1 } }] };
    });
    const run = await beginTurn(fleet.baseUrl, { text: 'Twice' });
    await until(() => restarted.waiting() === 1);
    await first.close();
    const second = await startRawToolset({ era, port: first.port, tools: [tool('a', 'two'), tool('b', 'new')] });
    await fleet.untilGeneration(2);
    restarted.open();
    const { events } = await run.done;
    const results = events.filter(({ type }) => type === 'TOOL_CALL_RESULT').map(({ content }) => content);
    expect(results).toEqual(['{"call":1}', '{"call":2}']);
    expect(second.received.map(({ args }) => args)).toEqual([{ call: 2 }]);
    expect(run.headers.get('x-agent-generation')).toBe('1');
  });

  test('B50, variant: makes its next call also when nobody has noticed the restart yet', async () => {
    const first = await startRawToolset({ era, tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: first.url }, { env: NO_POLL });
    const restarted = gate();
    fleet.model.reply(async ({ body }) => {
      const results = body.messages.filter(({ role }) => role === 'tool').length;
      if (results === 1) await restarted.pass();
      return results === 2 ? { text: 'done' } : { toolCalls: [{ name: 'a', args: { call: results + 1 } }] };
    });
    const run = await beginTurn(fleet.baseUrl, { text: 'Twice' });
    await until(() => restarted.waiting() === 1);
    await first.close();
    const second = await startRawToolset({ era, port: first.port, tools: [tool('a', 'one')] });
    restarted.open();
    const { events } = await run.done;
    expect(events.filter(({ type }) => type === 'TOOL_CALL_RESULT').map(({ content }) => content)).toEqual(['{"call":1}', '{"call":2}']);
    expect(second.received).toHaveLength(1);
  });
});
