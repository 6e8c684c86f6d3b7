import { listsOf, startFleet, tool } from '../flows/fleet.js';
import { gate } from '../support/gate.js';
import { held, pass, respond } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { beginTurn, runTurn } from '../support/run-client.js';
import { stays, until } from '../support/until.js';
import { fastClock } from './fast-clock.js';
import { toolTurn } from './tool-turn.js';

const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };

/** An index entry that gives the service this token. */
const entry = (toolset: RawToolset, token: string) => ({
  transport: 'streamable_http',
  url: toolset.url,
  headers: { authorization: `Bearer ${token}` },
});

/** From now on the toolset accepts this token only. */
function accept(toolset: RawToolset, token: string): void {
  const status = { current: token };
  toolset.on('*', async (exchange) => {
    const given = exchange.request.headers.authorization;
    await (given === `Bearer ${status.current}` ? pass : respond({ status: 401, body: 'token expired' }))(exchange);
  });
}

const tokensOf = (toolset: RawToolset, method: string) =>
  toolset.requests.filter((request) => (request.rpc ?? request.method) === method).map(({ headers }) => headers.authorization);

describe.each(['legacy', 'modern'] as const)('a token that expires while the service runs (%s)', (era) => {
  test('B95: is replaced by the one that the index then holds: the stream is open again with it, the tools stay, and the run goes on', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    accept(toolset, 'T1');
    const fleet = await startFleet({ toolset: entry(toolset, 'T1') }, { env: NO_POLL });
    const agent = fleet.app.refresher.current?.agent;
    const expired = gate();
    fleet.model.reply(async ({ body }) => {
      const results = body.messages.filter(({ role }) => role === 'tool').length;
      if (results === 1) await expired.pass();
      return results === 2 ? { text: 'done' } : { toolCalls: [{ name: 'a', args: { call: results + 1 } }] };
    });
    const run = await beginTurn(fleet.baseUrl, { text: 'Twice' });
    await until(() => expired.waiting() === 1);
    accept(toolset, 'T2');
    toolset.cutStreams('rst');
    fleet.index.set({ toolset: entry(toolset, 'T2') });
    const stream = era === 'legacy' ? 'GET' : 'subscriptions/listen';
    await until(() => toolset.streams.size === 1 && tokensOf(toolset, stream).at(-1) === 'Bearer T2');
    await fleet.untilState('toolset', 'watching');
    expired.open();
    const { events } = await run.done;
    expect(events.filter(({ type }) => type === 'TOOL_CALL_RESULT').map(({ content }) => content)).toEqual(['{"call":1}', '{"call":2}']);
    expect(fleet.app.refresher.current?.agent).toBe(agent);
    toolset.tools = [tool('a', 'two')];
    toolset.push();
    await fleet.untilGeneration(2);
  });

  test('B95, variant: and was found to be expired by a list, is tried anew as soon as the index has another, not a minute later', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    accept(toolset, 'T1');
    const fleet = await startFleet({ toolset: entry(toolset, 'T1') }, { env: NO_POLL });
    accept(toolset, 'T2');
    toolset.tools = [tool('a', 'two')];
    await fleet.refresh('toolset');
    expect(await fleet.untilState('toolset', 'failing')).toMatchObject({ error: { code: 'TOOLSET_UNAUTHORIZED' }, tools: 1 });
    fleet.index.set({ toolset: entry(toolset, 'T2') });
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'two' });
    expect((await fleet.untilState('toolset', 'watching')).failures).toBe(0);
  });

  test('B95, variant: that was wrong from the start is tried anew as soon as the index has another', async () => {
    const steady = await startRawToolset({ tools: [tool('steady', 'one')] });
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    accept(toolset, 'T2');
    const fleet = await startFleet({ steady: steady.url, toolset: entry(toolset, 'T1') }, { env: NO_POLL, wait: false });
    await fleet.started;
    expect((await fleet.untilState('toolset', 'failing')).error?.code).toBe('TOOLSET_UNAUTHORIZED');
    fleet.index.set({ steady: steady.url, toolset: entry(toolset, 'T2') });
    await until(async () => 'a' in (await fleet.shown()), { timeoutMs: 8_000 });
    await fleet.untilState('toolset', 'watching');
  });

  test('B95, variant: that is replaced while the first handshake is still being refused is tried anew as well', async () => {
    const refused = gate();
    const steady = await startRawToolset({ tools: [tool('steady', 'one')] });
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    accept(toolset, 'T2');
    toolset.once('server/discover', held(refused, respond({ status: 401 })));
    const fleet = await startFleet({ steady: steady.url, toolset: entry(toolset, 'T1') }, { env: NO_POLL, wait: false });
    await until(() => refused.waiting() === 1);
    const reads = fleet.index.reads();
    fleet.index.set({ steady: steady.url, toolset: entry(toolset, 'T2') });
    await until(() => fleet.index.reads() >= reads + 2);
    refused.open();
    await until(() => fleet.app.refresher.current !== undefined);
    await until(async () => 'a' in (await fleet.shown()), { timeoutMs: 8_000 });
  });
});

test('B95: twenty calls that are refused at once cause no handshake and no second call', async () => {
  const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
  const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
  toolset.on('tools/call', respond({ status: 401 }));
  fleet.model.reply(({ body }) =>
    body.messages.at(-1)?.role === 'tool' ? { text: 'done' } : { toolCalls: Array.from({ length: 20 }, () => ({ name: 'a', args: {} })) },
  );
  const { events } = await runTurn(fleet.baseUrl, { text: 'Go' });
  const results = events.filter(({ type }) => type === 'TOOL_CALL_RESULT').map(({ content }) => String(content));
  expect(results).toHaveLength(20);
  for (const result of results) expect(result).toMatch(/credentials are missing or were not accepted/);
  expect(events.at(-1)?.type).toBe('RUN_FINISHED');
  expect(toolset.counts()).toMatchObject({ initialize: 1, 'tools/call': 20 });
  // The service's own credentials were not refused.
  expect((await fleet.toolset('toolset')).state).toBe('watching');
});

test('B95: a toolset that refuses everything with 401 or 403 is asked about once a minute, and its tools stay', async () => {
  const factor = 20;
  const statuses = [401, 403];
  const toolsets = await Promise.all(statuses.map((status) => startRawToolset({ tools: [tool(`t${status}`, 'one')] })));
  const index = Object.fromEntries(statuses.map((status, number) => [`with${status}`, toolsets[number]?.url ?? '']));
  const fleet = await startFleet(index, { env: NO_POLL, clock: fastClock(factor) });
  for (const [number, toolset] of toolsets.entries()) {
    const answer = respond({ status: statuses[number] ?? 0 });
    for (const what of ['tools/list', 'initialize', 'server/discover', 'GET', 'ping']) toolset.on(what, answer);
  }
  await fleet.refresh();
  for (const name of Object.keys(index)) await fleet.untilState(name, 'failing');
  const before = toolsets.map(listsOf);
  const more = () => toolsets.map((toolset, number) => listsOf(toolset) - (before[number] ?? 0));
  await stays(() => more().every((lists) => lists <= 2), { durationMs: 90_000 / factor, what: 'a list a minute' });
  await until(() => more().every((lists) => lists > 0));
  expect(Object.keys(await fleet.shown())).toEqual(['t401', 't403']);
});

test("B95, variant: a user whose own token has expired is refused alone: the next user's calls, and the service's lists, go on", async () => {
  const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
  toolset.on('tools/call', async (exchange) => {
    await (exchange.request.headers['x-demo-token'] === 'good' ? pass : respond({ status: 401 }))(exchange);
  });
  const connections = { toolset: toolset.url };
  const fleet = await startFleet(connections, { env: NO_POLL });
  fleet.index.set(connections, { toolsets: [{ name: 'toolset', credential_headers: ['x-demo-token'] }] });
  await until(async () => {
    const answer = (await (await fetch(new URL('/connections', fleet.baseUrl))).json()) as { toolsets: { credentials: unknown[] }[] };
    return answer.toolsets[0]?.credentials.length === 1;
  });
  expect((await toolTurn(fleet, 'a')).result).toMatch(/credentials/);
  const { events } = await runTurn(fleet.baseUrl, { text: 'Go', headers: { 'x-demo-token': 'good' } });
  expect(events.find(({ type }) => type === 'TOOL_CALL_RESULT')?.content).toBe('{}');
  expect(await fleet.refresh('toolset')).toMatchObject({ body: { outcome: 'unchanged' } });
  expect((await fleet.toolset('toolset')).state).toBe('watching');
});
