import { having, listsOf, startFleet, tool } from '../flows/fleet.js';
import { gate } from '../support/gate.js';
import { eventText, reply, sse } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { beginTurn } from '../support/run-client.js';
import { stays, until } from '../support/until.js';
import { toolTurn } from './tool-turn.js';

/** Nothing but a signal can find a change within these tests, except where a test sets a poll. */
const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };
const LIST_CHANGED = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
const ERAS = ['legacy', 'modern'] as const;

const streamOpens = (toolset: RawToolset) => (toolset.counts().GET ?? 0) + (toolset.counts()['subscriptions/listen'] ?? 0);

describe.each(ERAS)('a notification of a %s toolset', (era) => {
  test('B01: tools added behind a server that sent list_changed are shown to the next run, after one list and without a new session', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    expect(await fleet.shown()).toEqual({ a: 'one' });
    expect(listsOf(toolset)).toBe(1);

    toolset.tools = [tool('a', 'one'), tool('b', 'two')];
    toolset.push();
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'one', b: 'two' });
    await stays(() => listsOf(toolset) === 2 && fleet.app.refresher.current?.number === 2, { durationMs: 300 });
    expect(toolset.counts()).toMatchObject({ 'server/discover': 1, ...(era === 'legacy' && { initialize: 1 }) });
  });

  test('B03: a tool that was taken away is gone from what the model is shown', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one'), tool('b', 'two')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    expect(await fleet.shown()).toEqual({ a: 'one', b: 'two' });
    toolset.tools = [tool('a', 'one')];
    toolset.push();
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'one' });
    expect(fleet.rounds().at(-1)?.changes).toEqual({ added: [], removed: ['b'], changed: [] });
  });

  test.each([
    ['params: null', { ...LIST_CHANGED, params: null }],
    ['an id: null', { ...LIST_CHANGED, id: null }],
    ['a request that wants an answer', { ...LIST_CHANGED, id: 7 }],
    ['no jsonrpc field', { method: LIST_CHANGED.method }],
  ])('B03, variant: a notification that is not quite well-formed (%s) still counts', async (_what, message) => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    toolset.tools = [tool('a', 'two')];
    for (const stream of toolset.streams) stream.write(eventText(message));
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'two' });
    expect(streamOpens(toolset)).toBe(1);
  });

  test('B08: a burst of notifications and unknown messages reaches no client, costs two lists at most, and logs no error', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: { ...NO_POLL, MCP_AGENT_API_DEBOUNCE_MS: '200' } });
    const answer = gate();
    fleet.model.reply(() => ({ text: 'ok', gate: answer }));
    const running = await beginTurn(fleet.baseUrl, { text: 'Hello' });
    await until(() => answer.waiting() === 1);

    for (let times = 0; times < 20; times++) toolset.push();
    for (let times = 0; times < 5; times++) toolset.push({ method: 'notifications/foo' });
    // The contract asks for a second look, one second after a notified list that showed no change (3.9).
    await until(() => having(fleet.rounds(), 'unchanged').length === 2);
    answer.open();
    const { events } = await running.done;
    expect(events.map(({ type }) => type)).toEqual([
      'RUN_STARTED',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'MESSAGES_SNAPSHOT',
      'RUN_FINISHED',
    ]);
    expect(listsOf(toolset)).toBe(3);
    expect(fleet.log.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
  });
});

describe('the stream that carries notifications', () => {
  test('B02: is opened after the handshake, with the session, so that a push between requests is heard', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const order = toolset.requests.map(({ rpc, method }) => rpc ?? method);
    expect(order).toEqual(['server/discover', 'initialize', 'notifications/initialized', 'GET', 'tools/list']);
    const stream = toolset.requests[3];
    expect(stream?.headers.accept).toBe('text/event-stream');
    expect(toolset.sessions).toContain(stream?.headers['mcp-session-id']);
    toolset.tools = [tool('a', 'two')];
    toolset.push();
    await fleet.untilGeneration(2);
  });

  test.each([200, 204])(
    'B02, variant: is opened also by a server that answers `initialized` with %i instead of 202',
    async (initializedStatus) => {
      const toolset = await startRawToolset({ tools: [tool('a', 'one')], initializedStatus });
      const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
      expect((await fleet.toolset('toolset')).state).toBe('watching');
      toolset.tools = [tool('a', 'two')];
      toolset.push();
      await fleet.untilGeneration(2);
    },
  );

  test('B02, variant: is named with any case and parameters of its content type', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    toolset.on('GET', sse([], { headers: { 'content-type': 'Text/Event-Stream;charset=UTF-8' }, end: 'open' }));
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    expect((await fleet.toolset('toolset')).state).toBe('watching');
  });
});

describe("a notification on a tool call's own answer", () => {
  test.each(['legacy', 'stateless', 'modern'] as const)('B05: is heard, and the result is delivered too (%s)', async (era) => {
    const toolset = await startRawToolset({ era, tools: [tool('grow', 'one')] });
    toolset.calls.set('grow', () => {
      toolset.tools = [tool('grow', 'two')];
      return sse([LIST_CHANGED, reply({ resultType: 'complete', content: [{ type: 'text', text: 'grown' }] })]);
    });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    expect((await toolTurn(fleet, 'grow')).result).toContain('grown');
    await fleet.untilGeneration(2);
    await stays(() => listsOf(toolset) === 2, { durationMs: 300 });
    fleet.model.reply(() => ({ text: 'ok' }));
    expect(await fleet.shown()).toEqual({ grow: 'two' });
  });

  test('B05, second case: that never came is made up for by the poll', async () => {
    const toolset = await startRawToolset({ era: 'stateless', tools: [tool('grow', 'one')] });
    toolset.calls.set('grow', () => {
      toolset.tools = [tool('grow', 'two')];
      return { content: [{ type: 'text', text: 'grown' }] };
    });
    const fleet = await startFleet({ toolset: toolset.url }, { env: { MCP_AGENT_API_POLLING_SECONDS: '0.5' } });
    expect((await toolTurn(fleet, 'grow')).result).toContain('grown');
    await fleet.untilGeneration(2);
    expect(fleet.rounds().at(-1)?.trigger).toBe('poll');
  });

  test('B05, variant: is heard also when it follows the result', async () => {
    const toolset = await startRawToolset({ era: 'stateless', tools: [tool('grow', 'one')] });
    toolset.calls.set('grow', () => {
      toolset.tools = [tool('grow', 'two')];
      return sse([reply({ content: [] }), LIST_CHANGED]);
    });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    await toolTurn(fleet, 'grow');
    await fleet.untilGeneration(2);
  });

  test('B05, variant: is heard also when the call then breaks off', async () => {
    const toolset = await startRawToolset({ era: 'stateless', tools: [tool('grow', 'one')] });
    toolset.calls.set('grow', () => {
      toolset.tools = [tool('grow', 'two')];
      return sse([LIST_CHANGED], { end: 'rst' });
    });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const { events } = await toolTurn(fleet, 'grow');
    expect(events.at(-1)?.type).toBe('RUN_FINISHED');
    await fleet.untilGeneration(2);
    expect(toolset.received).toHaveLength(1);
  });

  test("B05, variant: is heard also on a tool list's own answer, and that list is followed by another", async () => {
    const toolset = await startRawToolset({ era: 'stateless', tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: { ...NO_POLL, MCP_AGENT_API_ADMIN_TOKEN: 'admin-token' } });
    toolset.once('tools/list', async (exchange) => {
      const old = reply({ tools: toolset.tools })(exchange);
      toolset.tools = [tool('a', 'two')];
      await sse([LIST_CHANGED, old])(exchange);
    });
    await fleet.refresh();
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'two' });
  });
});

describe('a toolset without any push channel', () => {
  test('B06: is polled, asked for a stream once per session, and is no error', async () => {
    const toolset = await startRawToolset({ era: 'stateless', tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: { MCP_AGENT_API_POLLING_SECONDS: '0.5' } });
    toolset.tools = [tool('a', 'two')];
    const changedAt = performance.now();
    await fleet.untilGeneration(2);
    // Half a second and a tenth of it; the rest is room for a busy machine.
    expect(performance.now() - changedAt).toBeLessThan(2_000);
    expect(toolset.counts()).toMatchObject({ GET: 1, initialize: 1 });
    // What the case calls `notifications: none (polling)` is the state `polling` (4.3).
    expect(await fleet.toolset('toolset')).toMatchObject({ state: 'polling', error: null, failures: 0, missedSignals: 0 });
    expect(fleet.log.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
  });

  test('B06, variant: although it declares listChanged, is polled at the short interval', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')], getStatus: 405, capabilities: { tools: { listChanged: true } } });
    const fleet = await startFleet({ toolset: toolset.url }, { env: { MCP_AGENT_API_POLLING_SECONDS: '0.3' } });
    toolset.tools = [tool('a', 'two')];
    await fleet.untilGeneration(2);
    expect((await fleet.toolset('toolset')).state).toBe('polling');
  });

  test('B06, variant: of the 2026 era, which honours nothing of what was asked for, is polled and asked once', async () => {
    const toolset = await startRawToolset({ era: 'modern', tools: [tool('a', 'one')], honour: () => ({}) });
    const fleet = await startFleet({ toolset: toolset.url }, { env: { MCP_AGENT_API_POLLING_SECONDS: '0.3' } });
    toolset.tools = [tool('a', 'two')];
    await fleet.untilGeneration(2);
    expect(await fleet.toolset('toolset')).toMatchObject({ state: 'polling', error: null });
    expect(streamOpens(toolset)).toBe(1);
  });
});
