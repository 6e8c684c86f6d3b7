import { having, listsOf, startFleet, tool } from '../flows/fleet.js';
import { gate } from '../support/gate.js';
import { pass } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { stays, until } from '../support/until.js';

/** Nothing but a signal can find a change within these tests, except where a test sets a poll. */
const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };
const POLL = { MCP_AGENT_API_REFRESH_SECONDS: '1800', MCP_AGENT_API_POLLING_SECONDS: '0.3', MCP_AGENT_API_DEBOUNCE_MS: '20' };

const ID = 'io.modelcontextprotocol/subscriptionId';
const listens = (toolset: RawToolset) => toolset.counts()['subscriptions/listen'] ?? 0;
const frame = (message: object) => `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
const changed = (params?: object) => frame({ method: 'notifications/tools/list_changed', ...(params !== undefined && { params }) });

describe('the subscription of a 2026-07-28 toolset', () => {
  test('B132: asks for changes of the tools, and one that is announced is swapped in', async () => {
    const toolset = await startRawToolset({ era: 'modern', tools: [tool('a', 'one')] });
    const wanted: unknown[] = [];
    toolset.on('subscriptions/listen', (exchange) => {
      wanted.push(exchange.params.notifications);
      return pass(exchange);
    });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    expect(wanted).toEqual([expect.objectContaining({ toolsListChanged: true })]);
    toolset.tools = [tool('a', 'two')];
    toolset.push();
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'two' });
  });

  test.each(['fin', 'rst', 'graceful'] as const)(
    'B132: that ends (%s) is opened again, and what changed meanwhile is found by a list',
    async (how) => {
      const toolset = await startRawToolset({ era: 'modern', tools: [tool('a', 'one')] });
      const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
      const before = listens(toolset);
      toolset.tools = [tool('a', 'two')];
      toolset.cutStreams(how);
      await fleet.untilGeneration(2);
      await until(() => listens(toolset) > before && toolset.streams.size === 1, { what: 'the stream to be open again' });
      toolset.tools = [tool('a', 'three')];
      toolset.push();
      await fleet.untilGeneration(3);
      expect(await fleet.shown()).toEqual({ a: 'three' });
      expect((await fleet.toolset('toolset')).state).toBe('watching');
    },
  );

  test.each([
    ['without toolsListChanged', { resourcesListChanged: true }],
    ['with toolsListChanged: false', { toolsListChanged: false }],
    ['with nothing', {}],
  ])('B132: that is acknowledged %s means polling, and a change is found by the poll', async (_what, honoured) => {
    const toolset = await startRawToolset({ era: 'modern', tools: [tool('a', 'one')], honour: () => honoured });
    const fleet = await startFleet({ toolset: toolset.url }, { env: POLL });
    expect((await fleet.toolset('toolset')).state).toBe('polling');
    toolset.tools = [tool('a', 'two')];
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'two' });
    expect(listens(toolset)).toBe(1);
  });

  test('B132: on which odd messages arrive, before it is acknowledged and for other subscriptions, harms nothing', async () => {
    const toolset = await startRawToolset({ era: 'modern', tools: [tool('a', 'one')] });
    toolset.on('subscriptions/listen', async (exchange) => {
      const early = [changed(), changed({ _meta: { [ID]: 'foreign' } }), frame({ id: 'foreign', result: { resultType: 'complete' } })];
      exchange.response.writeHead(200, { 'content-type': 'text/event-stream' });
      exchange.response.write(early.join(''));
      exchange.response.writeHead = () => exchange.response;
      await pass(exchange);
    });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    expect((await fleet.toolset('toolset')).state).toBe('watching');
    const lists = listsOf(toolset);
    for (const stream of toolset.streams) {
      stream.write(changed({ _meta: { [ID]: 'foreign' } }));
      stream.write(frame({ id: 'foreign', result: { resultType: 'complete' } }));
      stream.write(frame({ id: 'foreign', error: { code: -32603, message: 'x' } }));
      stream.write(changed({ _meta: 7 }));
      stream.write(frame({ method: 'notifications/subscriptions/acknowledged', params: null }));
    }
    // The contract takes a notification for a hint, whatever it is about: it may cost lists, and it can change nothing by itself.
    toolset.tools = [tool('a', 'two')];
    toolset.push();
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'two' });
    expect(listsOf(toolset)).toBeLessThanOrEqual(lists + 5);
    expect(having(fleet.rounds(), 'aborted')).toEqual([]);
    expect(fleet.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('B132, variant: whose acknowledgement comes late loses no change that came before it', async () => {
    const toolset = await startRawToolset({ era: 'modern', tools: [tool('a', 'one')] });
    const barrier = gate();
    toolset.once('subscriptions/listen', async (exchange) => {
      exchange.response.writeHead(200, { 'content-type': 'text/event-stream' });
      exchange.response.flushHeaders();
      await barrier.pass();
      exchange.response.writeHead = () => exchange.response;
      await pass(exchange);
    });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL, wait: false });
    await fleet.untilGeneration(1);
    expect(await fleet.shown()).toEqual({ a: 'one' });
    toolset.tools = [tool('a', 'two')];
    barrier.open();
    await fleet.untilGeneration(2);
    await fleet.untilState('toolset', 'watching');
    expect(await fleet.shown()).toEqual({ a: 'two' });
  });

  test('B132, variant: that ends again and again before it is acknowledged means polling, and is asked ever less often', async () => {
    const toolset = await startRawToolset({ era: 'modern', tools: [tool('a', 'one')] });
    toolset.on('subscriptions/listen', (exchange) => {
      exchange.response.writeHead(200, { 'content-type': 'text/event-stream' }).end();
    });
    const fleet = await startFleet({ toolset: toolset.url }, { env: POLL });
    expect((await fleet.toolset('toolset')).state).toBe('polling');
    await stays(() => listens(toolset) <= 12, { durationMs: 1_500, what: 'few attempts' });
    toolset.tools = [tool('a', 'two')];
    await fleet.untilGeneration(2);
  });
});
