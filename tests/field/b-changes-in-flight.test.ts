import { having, listsOf, startFleet, tool } from '../flows/fleet.js';

import { gate } from '../support/gate.js';
import { type Answer, eventText, held, pass, reply, respond, rpcResult, sse } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { until } from '../support/until.js';
import { beginToolTurn } from './tool-turn.js';

/** Nothing but a signal can find a change within these tests, except where a test sets a poll. */
const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };
const ERAS = ['legacy', 'modern'] as const;

/** The list as this toolset has it right now, whatever becomes of it afterwards. */
const frozenList = (toolset: RawToolset): Answer => {
  const tools = [...toolset.tools];
  return rpcResult({ resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools });
};

describe.each(ERAS)('a change while a list is in flight (%s)', (era) => {
  test('B09: a notification that lands while a list is in flight is not lost', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    const first = gate();
    toolset.once('tools/list', held(first));
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL, wait: false });
    await until(() => first.waiting() === 1);
    toolset.tools = [tool('a', 'one'), tool('b', 'two')];
    toolset.push();
    first.open();
    await until(async () => 'b' in (await fleet.shown()));
    expect(await fleet.shown()).toEqual({ a: 'one', b: 'two' });
    expect(listsOf(toolset)).toBe(2);
  });

  test('B09, variant: a notification at each page of a list in flight causes another list, but not one each', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one'), tool('b', 'one'), tool('c', 'one')], pageSize: 1 });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const before = listsOf(toolset);
    const pushing: Answer = async (exchange) => {
      toolset.push();
      await pass(exchange);
    };
    toolset.once('tools/list', pushing, pushing, pushing);
    toolset.tools = [tool('a', 'two'), tool('b', 'two'), tool('c', 'two')];
    toolset.push();
    await fleet.untilGeneration(2);
    await until(() => having(fleet.rounds(), 'unchanged').length > 0);
    // Three pages each. The last notification may arrive when the second list has begun, and then asks for a third.
    expect(listsOf(toolset)).toBeLessThanOrEqual(before + 9);
  });

  test('B09, variant: the second of two lists fails, and the change that it was to find is found by the retry', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const barrier = gate();
    toolset.once('tools/list', held(barrier));
    // Three tries make one failed list.
    for (let tries = 0; tries < 3; tries++) toolset.once('tools/list', respond({ status: 500 }));
    toolset.push();
    await until(() => barrier.waiting() === 1);
    toolset.tools = [tool('a', 'two')];
    toolset.push();
    barrier.open();
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'two' });
    expect(having(fleet.rounds(), 'aborted')).toHaveLength(1);
  });

  test('B11: a server that notifies before its own list is updated is looked at once more', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    toolset.once('tools/list', frozenList(toolset));
    toolset.tools = [tool('a', 'one'), tool('b', 'two')];
    toolset.push();
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'one', b: 'two' });
    expect(listsOf(toolset)).toBe(3);
    expect(fleet.rounds().at(-1)?.trigger).toBe('notification');
  });

  test('B11, variant: the second look is kept when the first one shows only a part of the change, which is announced too', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    for (const name of ['b', 'c', 'd']) {
      toolset.push();
      toolset.tools = [...toolset.tools, tool(name, 'new')];
    }
    await until(async () => Object.keys(await fleet.shown()).length === 4);
  });
});

test('B12: a notification during a tool call is listed at once, and neither call nor pings wait for it', async () => {
  const toolset = await startRawToolset({ tools: [tool('slow', 'one')] });
  const call = gate();
  toolset.calls.set('slow', async () => {
    await call.pass();
    return { content: [{ type: 'text', text: 'finished' }] };
  });
  const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
  const turn = await beginToolTurn(fleet, 'slow');
  await until(() => call.waiting() === 1);
  const list = gate();
  toolset.once('tools/list', held(list));
  toolset.tools = [tool('slow', 'two')];
  toolset.push();
  await until(() => list.waiting() === 1, { what: 'the list to be asked for while the call is under way' });
  for (const stream of toolset.streams) stream.write(eventText({ jsonrpc: '2.0', id: 'p1', method: 'ping' }));
  await until(() => toolset.requests.some(({ body }) => JSON.stringify(body)?.includes('"id":"p1"')), { what: 'the answer to the ping' });
  call.open();
  expect((await turn.done).result).toContain('finished');
  expect(fleet.app.refresher.current?.number).toBe(1);
  list.open();
  await fleet.untilGeneration(2);
});

test("B12, variant: a server's ping on a tool call's own stream is answered before the call is", async () => {
  const toolset = await startRawToolset({ tools: [tool('slow', 'one')] });
  const ponged = () => toolset.requests.some(({ body }) => JSON.stringify(body)?.includes('"id":"p2"'));
  toolset.calls.set('slow', () => async (exchange) => {
    await sse([{ jsonrpc: '2.0', id: 'p2', method: 'ping' }], { end: 'open' })(exchange);
    await until(ponged, { what: 'the answer to the ping' });
    exchange.response.end(eventText({ ...reply({ content: [{ type: 'text', text: 'finished' }] })(exchange) }));
  });
  const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
  expect((await (await beginToolTurn(fleet, 'slow')).done).result).toContain('finished');
});
