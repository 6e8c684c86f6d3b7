import { type Gate, gate } from '../support/gate.js';
import type { ModelReply, ModelRequest } from '../support/model-server.js';
import { shownTools } from '../support/model-server.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { beginTurn, runTurn, runVerifiedTurn } from '../support/run-client.js';
import { type SdkEra, startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';
import { type Fleet, startFleet, tool } from './fleet.js';

/** Lets the model call these tools one after another, and then say "done". Turns with another text are answered "ok". */
function callInTurn(fleet: Fleet, text: string, names: readonly string[]): void {
  fleet.model.reply(({ body }): ModelReply => {
    const at = body.messages.map(({ role }) => role).lastIndexOf('user');
    if (body.messages[at]?.content !== text) return { text: 'ok' };
    const results = body.messages.slice(at).filter(({ role }) => role === 'tool').length;
    const name = names[results];
    return name === undefined ? { text: 'done' } : { toolCalls: [{ name, args: {} }] };
  });
}

function requestsOf(fleet: Fleet, text: string): readonly ModelRequest[] {
  return fleet.model.requests.filter(({ body }) => body.messages.some(({ content }) => content === text));
}

/** A tool whose first call waits at the gate. */
function slowTool(barrier: Gate, description: string) {
  let calls = 0;
  return {
    ...tool('slow', description),
    run: async () => {
      calls++;
      if (calls === 1) await barrier.pass();
      return `call ${calls}`;
    },
  };
}

describe('a run that goes on through a swap', () => {
  test.each<SdkEra>(['legacy', 'modern'])('keeps its definitions and its session while its toolset leaves the index (%s)', async (era) => {
    const barrier = gate();
    const leaving = await startSdkToolset({ era, tools: [slowTool(barrier, 'one')] });
    const others = await Promise.all(
      ['b', 'c'].map((name) => startSdkToolset({ era: 'legacy', tools: [tool(name, 'stays')] }).then(({ url }) => [name, url] as const)),
    );
    const staying = Object.fromEntries(others);
    const fleet = await startFleet({ leaving: leaving.url, ...staying });
    callInTurn(fleet, 'Take your time', ['slow', 'slow']);
    const turn = await beginTurn(fleet.baseUrl, { text: 'Take your time' });
    await until(() => barrier.waiting() === 1);

    fleet.index.set(staying);
    await fleet.untilGeneration(2);
    expect(Object.keys(await fleet.shown())).toEqual(['b', 'c']);
    const { draining, toolsets } = await fleet.status();
    expect(draining).toMatchObject([{ generation: 1, runs: 1 }]);
    expect(toolsets.map(({ name }) => name)).toEqual(['b', 'c']);
    const handshakes = leaving.counts().initialize;
    barrier.open();

    const { events, text, headers } = await turn.done;
    expect(text).toBe('done');
    expect(headers.get('x-agent-generation')).toBe('1');
    expect(events.at(-1)?.type).toBe('RUN_FINISHED');
    expect(events.filter(({ type }) => type === 'TOOL_CALL_RESULT').map(({ content }) => content)).toEqual(['call 1', 'call 2']);
    // Every request of the run shows the model what it was shown at first.
    const shown = requestsOf(fleet, 'Take your time').map((request) => shownTools(request).map(({ name }) => name));
    expect(shown).toEqual([
      ['b', 'c', 'slow'],
      ['b', 'c', 'slow'],
      ['b', 'c', 'slow'],
    ]);
    // The second call came on the session of the first, which is closed now that nobody needs it.
    expect(leaving.counts().initialize).toBe(handshakes);
    await until(() => leaving.streams() === 0 && leaving.sessions() === 0, { what: 'the session to be closed' });
    await until(async () => (await fleet.status()).draining.length === 0);
  });

  test('keeps calling a tool that its toolset no longer lists', async () => {
    const barrier = gate();
    const toolset = await startRawToolset({ tools: [tool('slow', 'one'), tool('other', 'one')] });
    toolset.calls.set('slow', async () => {
      await barrier.pass();
      return { content: [{ type: 'text', text: 'still here' }] };
    });
    const fleet = await startFleet({ toolset: toolset.url });
    callInTurn(fleet, 'Take your time', ['slow', 'slow']);
    const turn = await beginTurn(fleet.baseUrl, { text: 'Take your time' });
    await until(() => barrier.waiting() === 1);
    toolset.tools = [tool('other', 'two')];
    toolset.push();
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ other: 'two' });
    barrier.open();
    const { events } = await turn.done;
    expect(events.filter(({ type }) => type === 'TOOL_CALL_RESULT').map(({ content }) => content)).toEqual(['still here', 'still here']);
    const last = Object.fromEntries(
      shownTools(requestsOf(fleet, 'Take your time').at(-1)).map(({ name, description }) => [name, description]),
    );
    expect(last).toEqual({ other: 'one', slow: 'one' });
  });

  test('is accepted by the verifier of the AG-UI client', async () => {
    const barrier = gate();
    const toolset = await startSdkToolset({ era: 'legacy', tools: [slowTool(barrier, 'one')] });
    const fleet = await startFleet({ toolset: toolset.url });
    callInTurn(fleet, 'Take your time', ['slow']);
    const turn = runVerifiedTurn(fleet.baseUrl, { text: 'Take your time' });
    await until(() => barrier.waiting() === 1);
    toolset.setTools([slowTool(barrier, 'two')]);
    await fleet.untilGeneration(2);
    barrier.open();
    expect((await turn).text).toBe('done');
  });
});

describe('a thread', () => {
  test('goes on after a tool that it called is gone, and after its whole toolset is gone', async () => {
    const toolset = await startSdkToolset({ era: 'legacy', tools: [tool('remembered', 'one'), tool('other', 'one')] });
    const more = await startSdkToolset({ era: 'legacy', tools: [tool('more', 'one')] });
    const most = await startSdkToolset({ era: 'legacy', tools: [tool('most', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url, more: more.url, most: most.url });
    callInTurn(fleet, 'Use it', ['remembered']);
    const { threadId } = await runTurn(fleet.baseUrl, { text: 'Use it' });

    toolset.setTools([tool('other', 'one')]);
    await fleet.untilGeneration(2);
    const second = await runTurn(fleet.baseUrl, { threadId, text: 'And now?' });
    expect(second.events.at(-1)?.type).toBe('RUN_FINISHED');
    expect(second.headers.get('x-agent-generation')).toBe('2');

    fleet.index.set({ more: more.url, most: most.url });
    await fleet.untilGeneration(3);
    const third = await runTurn(fleet.baseUrl, { threadId, text: 'And then?' });
    expect(third.events.at(-1)?.type).toBe('RUN_FINISHED');
    // The strict model server refuses a history in which a call has no result.
    const { messages } = fleet.model.requests.at(-1)?.body ?? { messages: [] };
    expect(messages.map(({ role }) => role).filter((role) => role !== 'system')).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
      'assistant',
      'user',
    ]);
    expect(shownTools(fleet.model.requests.at(-1)).map(({ name }) => name)).toEqual(['more', 'most']);
  });

  test('is told when the model calls a tool that is gone, and goes on', async () => {
    const toolset = await startSdkToolset({ era: 'legacy', tools: [tool('kept', 'one'), tool('gone', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url });
    toolset.setTools([tool('kept', 'one')]);
    await fleet.untilGeneration(2);
    callInTurn(fleet, 'Use it', ['gone']);
    const turn = await runTurn(fleet.baseUrl, { text: 'Use it' });
    expect(turn.text).toBe('done');
    expect(toolset.calls).toEqual([]);
    expect(String(fleet.model.requests.at(-1)?.body.messages.at(-1)?.content)).toContain('gone');
  });
});
