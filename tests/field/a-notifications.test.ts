import { having, listsOf, startFleet, tool } from '../flows/fleet.js';
import { gate } from '../support/gate.js';
import { eventText, sse } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { beginTurn } from '../support/run-client.js';
import { stays, until } from '../support/until.js';

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
