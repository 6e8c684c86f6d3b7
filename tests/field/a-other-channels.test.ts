import { listsOf, startFleet, tool } from '../flows/fleet.js';
import { reply, sse } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { stays } from '../support/until.js';
import { toolTurn } from './tool-turn.js';

/** Nothing but a signal can find a change within these tests, except where a test sets a poll. */
const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };
const LIST_CHANGED = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };

const streamOpens = (toolset: RawToolset) => (toolset.counts().GET ?? 0) + (toolset.counts()['subscriptions/listen'] ?? 0);

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
