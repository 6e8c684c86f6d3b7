import { type Fleet, having, listsOf, startFleet, tool } from '../flows/fleet.js';
import { gate } from '../support/gate.js';
import type { ModelReply } from '../support/model-server.js';
import { rpcError } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { beginTurn, runTurn, type Turn } from '../support/run-client.js';
import { stays, until } from '../support/until.js';
import { heldBytes } from './memory.js';

const ERAS = ['legacy', 'modern'] as const;
const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };

const results = ({ events }: Pick<Turn, 'events'>) =>
  events.filter(({ type }) => type === 'TOOL_CALL_RESULT').map(({ content }) => String(content));

/** Lets the model call this tool once in turns with this text, after `before`; every other turn is answered "ok". */
function callOnce(fleet: Fleet, { text, name, before }: { text: string; name: string; before?: Promise<unknown> }): void {
  fleet.model.reply(async ({ body }): Promise<ModelReply> => {
    const last = body.messages.at(-1);
    if (last?.role === 'tool') return { text: 'done' };
    if (last?.content !== text) return { text: 'ok' };
    await before;
    return { toolCalls: [{ name, args: {} }] };
  });
}

describe.each(ERAS)('a tool that is taken away while the model thinks (%s)', (era) => {
  test('B109: is answered as no longer available, the run goes on, and a new run does not see it', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('x', 'one'), tool('y', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const thinking = gate();
    callOnce(fleet, { text: 'Use x', name: 'x', before: thinking.pass() });
    const turn = await beginTurn(fleet.baseUrl, { text: 'Use x' });
    await until(() => fleet.model.requests.length === 1, { what: 'the model to be asked' });
    toolset.tools = [tool('y', 'one')];
    toolset.push();
    await fleet.untilGeneration(2);
    thinking.open();
    const { events, text } = await turn.done;
    expect(results({ events })).toEqual([expect.stringContaining('no longer available')]);
    expect([text, events.at(-1)?.type]).toEqual(['done', 'RUN_FINISHED']);
    expect(await fleet.shown()).toEqual({ y: 'one' });
  });

  test('B109: and of which nobody was told, is found to be gone by the call', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('x', 'one'), tool('y', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    callOnce(fleet, { text: 'Use x', name: 'x' });
    toolset.tools = [tool('y', 'one')];
    const turn = await runTurn(fleet.baseUrl, { text: 'Use x' });
    expect(results(turn)).toEqual([expect.stringContaining('no longer available')]);
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ y: 'one' });
  });

  test('B109, variant: and answers a call with invalid arguments although it is still there, costs a list or two and no swap', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('x', 'one')] });
    toolset.on('tools/call', rpcError(-32602, 'Invalid arguments for tool x: q is required'));
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const agent = fleet.app.refresher.current?.agent;
    callOnce(fleet, { text: 'Use x', name: 'x' });
    const before = listsOf(toolset);
    for (let count = 0; count < 5; count += 1) {
      const turn = await runTurn(fleet.baseUrl, { text: 'Use x' });
      expect(results(turn)).toEqual([expect.stringContaining('q is required')]);
      expect(turn.text).toBe('done');
    }
    expect(listsOf(toolset)).toBeLessThanOrEqual(before + 10);
    expect(fleet.app.refresher.current?.agent).toBe(agent);
  });
});

describe('a tool call that goes on while another toolset changes', () => {
  test.each(ERAS)('B110: completes on its session, its run ends on its generation, and a new run sees the change (%s)', async (era) => {
    const slow = await startRawToolset({ era, tools: [tool('slow', 'one')] });
    const other = await startRawToolset({ era, tools: [tool('b', 'one')] });
    const running = gate();
    slow.calls.set('slow', async () => {
      await running.pass();
      return { content: [{ type: 'text', text: 'slow answer' }] };
    });
    const fleet = await startFleet({ slow: slow.url, other: other.url }, { env: NO_POLL });
    const handshakes = slow.counts().initialize;
    callOnce(fleet, { text: 'Take your time', name: 'slow' });
    const turn = await beginTurn(fleet.baseUrl, { text: 'Take your time' });
    await until(() => running.waiting() === 1, { what: 'the call' });
    other.tools = [tool('b', 'two'), tool('c', 'one')];
    other.push();
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ b: 'two', c: 'one', slow: 'one' });
    running.open();
    const { events, headers } = await turn.done;
    expect(results({ events })).toEqual(['slow answer']);
    expect([headers.get('x-agent-generation'), events.at(-1)?.type]).toEqual(['1', 'RUN_FINISHED']);
    expect([slow.counts().initialize, slow.received.length]).toEqual([handshakes, 1]);
    await until(async () => (await fleet.status()).draining.length === 0, { what: 'generation 1 to be released' });
  });

  test('B110: a hundred swaps with runs in between leave one generation, one session each and no memory behind', async () => {
    const slow = await startRawToolset({ tools: [tool('slow', 'one')] });
    const other = await startRawToolset({ tools: [tool('b', '0')] });
    const fleet = await startFleet({ slow: slow.url, other: other.url }, { env: NO_POLL });
    callOnce(fleet, { text: 'Use it', name: 'slow' });
    const swaps = async (from: number, to: number) => {
      for (let count = from; count < to; count += 1) {
        other.tools = [tool('b', String(count))];
        const turn = count % 10 === 0 ? await beginTurn(fleet.baseUrl, { text: 'Use it' }) : undefined;
        // A request needs no token, however often it changes something (3.10).
        await fleet.refresh('other');
        if (turn !== undefined) expect((await turn.done).events.at(-1)?.type).toBe('RUN_FINISHED');
      }
      await until(async () => (await fleet.status()).draining.length === 0, { what: 'older generations to be released' });
      return heldBytes();
    };
    const before = await swaps(1, 51);
    const after = await swaps(51, 101);
    expect(having(fleet.rounds(), 'swapped')).toHaveLength(101);
    expect([slow.sessions.size, other.sessions.size, slow.streams.size, other.streams.size]).toEqual([1, 1, 1, 1]);
    // The history keeps fifty generations, and the test every request; an agent that stays takes far more.
    expect(after - before).toBeLessThan(50 * 40_000);
  });

  test('B110, variant: is not disturbed when its own toolset changes, or gets other headers, while it runs', async () => {
    const slow = await startRawToolset({ tools: [tool('slow', 'one')] });
    const running = gate();
    slow.calls.set('slow', async () => {
      await running.pass();
      return { content: [{ type: 'text', text: 'slow answer' }] };
    });
    const fleet = await startFleet({ slow: slow.url }, { env: NO_POLL });
    callOnce(fleet, { text: 'Take your time', name: 'slow' });
    const turn = await beginTurn(fleet.baseUrl, { text: 'Take your time' });
    await until(() => running.waiting() === 1, { what: 'the call' });
    slow.tools = [tool('slow', 'two')];
    slow.push();
    await fleet.untilGeneration(2);
    const sessions = slow.counts().initialize ?? 0;
    fleet.index.set({ slow: { url: slow.url, headers: { 'x-service': 'new' } } });
    await until(() => (slow.counts().initialize ?? 0) > sessions, { what: 'a session with the new headers' });
    await stays(() => slow.received.length === 1, { durationMs: 200, what: 'one call' });
    running.open();
    expect(results(await turn.done)).toEqual(['slow answer']);
  });
});
