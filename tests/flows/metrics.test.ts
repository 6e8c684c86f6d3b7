import { gate } from '../support/gate.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { beginTurn, runTurn } from '../support/run-client.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';
import { type Fleet, startFleet, tool } from './fleet.js';

/** The series of one answer of `GET /metrics`, by name and labels as they are written. */
async function scrape({ baseUrl }: Fleet): Promise<ReadonlyMap<string, number>> {
  const response = await fetch(`${baseUrl}/metrics`);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

const seriesOf = (series: ReadonlyMap<string, number>, toolset: string) =>
  [...series.keys()].filter((key) => key.includes(`toolset="${toolset}"`));

test('metrics tell the live generation, the rounds, the state of every toolset, how long its lists took and how old the last one is', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'one')] });
  const web = await startRawToolset({ tools: [tool('open', 'one')] });
  const fleet = await startFleet({ kb: kb.url, web: web.url });
  const before = await scrape(fleet);
  expect(before.get('mcp_agent_generation')).toBe(fleet.app.refresher.current?.number);
  expect(before.get('mcp_agent_rounds_total{outcome="swapped",trigger="start"}')).toBe(1);
  expect(before.get('mcp_agent_toolset_state{toolset="kb",state="watching"}')).toBe(1);
  expect(before.get('mcp_agent_toolset_state{toolset="kb",state="failing"}')).toBe(0);
  expect(before.get('mcp_agent_list_seconds_count{toolset="kb"}')).toBeGreaterThanOrEqual(1);
  expect(before.get('mcp_agent_missed_signals_total{toolset="kb"}')).toBe(0);
  expect(before.get('mcp_agent_staleness_seconds{toolset="web"}')).toBeLessThan(60);
  expect(before.get('mcp_agent_draining_seconds')).toBe(0);
  expect(before.get('process_resident_memory_bytes')).toBeGreaterThan(0);

  const generation = fleet.app.refresher.current?.number ?? 0;
  kb.setTools([tool('search', 'two')]);
  await fleet.untilGeneration(generation + 1);
  await web.close();
  await fleet.untilState('web', 'failing');
  const after = await scrape(fleet);
  expect(after.get('mcp_agent_generation')).toBeGreaterThan(generation);
  expect(after.get('mcp_agent_rounds_total{outcome="swapped",trigger="notification"}')).toBe(1);
  expect(after.get('mcp_agent_rounds_total{outcome="aborted",trigger="reconnect"}')).toBe(1);
  expect(after.get('mcp_agent_toolset_state{toolset="web",state="failing"}')).toBe(1);
  expect(after.get('mcp_agent_toolset_state{toolset="web",state="watching"}')).toBe(0);
  expect(after.get('mcp_agent_list_seconds_count{toolset="kb"}')).toBeGreaterThan(
    before.get('mcp_agent_list_seconds_count{toolset="kb"}') ?? 0,
  );
  await until(async () => (await scrape(fleet)).get('mcp_agent_round_seconds_count') === fleet.rounds().length);
  // Lists that failed tell nothing about how long a list takes.
  expect(after.get('mcp_agent_list_seconds_count{toolset="web"}')).toBe(before.get('mcp_agent_list_seconds_count{toolset="web"}'));
});

test('a change that a poll found although it should have been announced counts as a missed signal', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'one')] });
  const fleet = await startFleet({ kb: kb.url }, { env: { MCP_AGENT_API_REFRESH_SECONDS: '1' } });
  await fleet.untilState('kb', 'watching');
  kb.setTools([tool('search', 'two')], { notify: false });
  await until(async () => ((await scrape(fleet)).get('mcp_agent_missed_signals_total{toolset="kb"}') ?? 0) > 0, { timeoutMs: 15_000 });
});

test('the series of a toolset go when it leaves the index, and those of the others stay', async () => {
  const one = await startSdkToolset({ era: 'modern', tools: [tool('a', 'one')] });
  const others = await Promise.all([1, 2].map(() => startSdkToolset({ era: 'modern', tools: [tool('b', 'one')] })));
  const staying = Object.fromEntries(others.map(({ url }, at) => [`staying${at}`, url]));
  const fleet = await startFleet({ leaving: one.url, ...staying });
  const before = await scrape(fleet);
  expect(seriesOf(before, 'leaving').length).toBe(seriesOf(before, 'staying0').length);
  fleet.index.set(staying);
  await fleet.untilGeneration((fleet.app.refresher.current?.number ?? 0) + 1);
  const after = await scrape(fleet);
  expect(seriesOf(after, 'leaving')).toEqual([]);
  expect(seriesOf(after, 'staying0')).toEqual(seriesOf(before, 'staying0'));
});

test('runs are counted by their outcome, and those that stream are counted too', async () => {
  const barrier = gate();
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'one')] });
  const fleet = await startFleet({ kb: kb.url }, { env: { MCP_AGENT_API_RUN_SECONDS: '4' } });
  await runTurn(fleet.baseUrl, { text: 'hi' });
  fleet.model.reply(() => ({ status: 400 }));
  await runTurn(fleet.baseUrl, { text: 'hi' });
  fleet.model.reply(() => ({ text: 'at last', gate: barrier }));
  const waiting = await beginTurn(fleet.baseUrl, { text: 'slowly' });
  const leaving = await beginTurn(fleet.baseUrl, { text: 'slowly' });
  await until(() => barrier.waiting() === 2);
  expect((await scrape(fleet)).get('mcp_agent_runs_in_flight')).toBe(2);
  leaving.leave();

  kb.setTools([tool('search', 'two')]);
  await fleet.untilGeneration((fleet.app.refresher.current?.number ?? 0) + 1);
  await until(async () => ((await scrape(fleet)).get('mcp_agent_draining_seconds') ?? 0) > 0);
  expect((await waiting.done).events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'run_timeout' });
  barrier.open();
  await until(async () => (await scrape(fleet)).get('mcp_agent_draining_seconds') === 0);
  const series = await scrape(fleet);
  const outcomes = [...series].filter(([key]) => key.startsWith('mcp_agent_runs_total')).sort();
  expect(outcomes).toEqual([
    ['mcp_agent_runs_total{outcome="client_gone"}', 1],
    ['mcp_agent_runs_total{outcome="finished"}', 1],
    ['mcp_agent_runs_total{outcome="model_failed"}', 1],
    ['mcp_agent_runs_total{outcome="run_timeout"}', 1],
  ]);
  expect(series.get('mcp_agent_runs_in_flight')).toBe(0);
});

test('runs that are refused are counted by the reason, and requests that cannot be read are not', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'one')] });
  await kb.kill();
  const fleet = await startFleet({ kb: kb.url }, { wait: false, env: { MCP_AGENT_API_MAX_RUNS: '2' } });
  const refused = async (threadId: string) => ((await runTurn(fleet.baseUrl, { text: 'hi', threadId })).problem as { code?: string }).code;
  expect(await refused('t1')).toBe('not_ready');
  await kb.restart();
  await fleet.started;
  fleet.model.reply(() => ({ hang: true }));
  const running = await beginTurn(fleet.baseUrl, { text: 'hi', threadId: 't1' });
  expect(await refused('t1')).toBe('run_in_progress');
  const other = await beginTurn(fleet.baseUrl, { text: 'hi', threadId: 't2' });
  expect([await refused('t3'), await refused('t4')]).toEqual(['too_many_runs', 'too_many_runs']);
  const headers = { 'content-type': 'application/json' };
  expect((await fetch(`${fleet.baseUrl}/runs`, { method: 'POST', headers, body: '{}' })).status).toBe(422);
  running.leave();
  other.leave();
  await until(async () => (await scrape(fleet)).get('mcp_agent_runs_in_flight') === 0);
  await fleet.app.drain();
  expect(await refused('t1')).toBe('shutting_down');
  const outcomes = [...(await scrape(fleet))].filter(([key]) => key.startsWith('mcp_agent_runs_total')).sort();
  expect(outcomes).toEqual([
    ['mcp_agent_runs_total{outcome="client_gone"}', 2],
    ['mcp_agent_runs_total{outcome="not_ready"}', 1],
    ['mcp_agent_runs_total{outcome="run_in_progress"}', 1],
    ['mcp_agent_runs_total{outcome="shutting_down"}', 1],
    ['mcp_agent_runs_total{outcome="too_many_runs"}', 2],
  ]);
});

test('two services in one process do not count for each other (12.3)', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'one')] });
  const [one, other] = [await startFleet({ kb: kb.url }), await startFleet({ kb: kb.url })];
  await runTurn(one.baseUrl, { text: 'hi' });
  expect((await scrape(one)).get('mcp_agent_runs_total{outcome="finished"}')).toBe(1);
  const counted = await scrape(other);
  expect(counted.get('mcp_agent_runs_total{outcome="finished"}')).toBeUndefined();
  expect(counted.get('mcp_agent_rounds_total{outcome="swapped",trigger="start"}')).toBe(1);
});
