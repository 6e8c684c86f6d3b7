import { respond } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { runTurn } from '../support/run-client.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';
import { having, listsOf, startFleet, tool } from './fleet.js';

describe('a start', () => {
  test('with a toolset that is down is degraded, and the toolset joins when it answers', async () => {
    const up = await startSdkToolset({ era: 'legacy', tools: [tool('up', 'one')] });
    const late = await startSdkToolset({ era: 'modern', tools: [tool('late', 'one')] });
    await late.kill();
    const fleet = await startFleet({ up: up.url, late: late.url }, { wait: false, env: { MCP_AGENT_API_READY_SECONDS: '3' } });
    await fleet.started;
    expect(await fleet.shown()).toEqual({ up: 'one' });
    await until(async () => (await fleet.readiness()).status === 200);
    expect((await fleet.readiness()).body).toEqual({ status: 'degraded', failing: ['late'] });
    expect((await fleet.toolset('late')).state).toBe('failing');
    await late.restart();
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ up: 'one', late: 'one' });
    expect(await fleet.readiness()).toEqual({ status: 200, body: { status: 'ready' } });
  });

  test('answers 503 until the first toolset has', async () => {
    const late = await startSdkToolset({ era: 'legacy', tools: [tool('late', 'one')] });
    await late.kill();
    const fleet = await startFleet({ late: late.url }, { wait: false });
    expect((await fleet.readiness()).status).toBe(503);
    expect((await runTurn(fleet.baseUrl, { text: 'Hello' })).status).toBe(503);
    await late.restart();
    await fleet.started;
    expect((await fleet.readiness()).status).toBe(200);
    expect(await fleet.shown()).toEqual({ late: 'one' });
  });

  test('waits for a required toolset', async () => {
    const up = await startSdkToolset({ era: 'legacy', tools: [tool('up', 'one')] });
    const late = await startSdkToolset({ era: 'legacy', tools: [tool('late', 'one')] });
    await late.kill();
    const env = { MCP_AGENT_API_READY_SECONDS: '0', MCP_AGENT_API_REQUIRED: 'late' };
    const fleet = await startFleet({ up: up.url, late: late.url }, { wait: false, env });
    await fleet.untilGeneration(1);
    expect((await fleet.readiness()).status).toBe(503);
    await late.restart();
    await fleet.started;
    await until(async () => (await fleet.readiness()).status === 200);
  });

  test('is given up with one line for each toolset', async () => {
    const down = await startSdkToolset({ era: 'legacy' });
    await down.kill();
    const broken = await startRawToolset();
    broken.on('*', respond({ status: 401 }));
    const fleet = await startFleet(
      { down: down.url, broken: broken.url },
      { wait: false, env: { MCP_AGENT_API_STARTUP_SECONDS: '5', MCP_AGENT_API_READY_SECONDS: '1' } },
    );
    const error = await fleet.started.then(
      () => new Error('started'),
      (reason: Error) => reason,
    );
    const lines = error.message.split('\n');
    expect(lines).toHaveLength(3);
    expect(lines.filter((line) => line.includes('down: TOOLSET_UNREACHABLE'))).toHaveLength(1);
    expect(lines.filter((line) => line.includes('broken: TOOLSET_UNAUTHORIZED'))).toHaveLength(1);
  });
});

describe('POST /refresh', () => {
  test('lists the toolset that it names, and answers the round', async () => {
    const asked = await startSdkToolset({ era: 'stateless', tools: [tool('asked', 'one')] });
    const other = await startSdkToolset({ era: 'legacy', tools: [tool('other', 'one')] });
    const fleet = await startFleet({ asked: asked.url, other: other.url }, { env: { MCP_AGENT_API_POLLING_SECONDS: '600' } });
    const before = listsOf(other);
    asked.setTools([tool('asked', 'two')], { notify: false });
    const swapped = await fleet.refresh('asked');
    expect(swapped).toMatchObject({
      status: 200,
      body: { outcome: 'swapped', trigger: 'manual', generation: 2, toolsets: { listed: ['asked'] }, changes: { changed: ['asked'] } },
    });
    expect(await fleet.shown()).toEqual({ asked: 'two', other: 'one' });
    expect((await fleet.refresh('asked')).body).toMatchObject({ outcome: 'unchanged', trigger: 'manual', generation: 2 });
    expect(listsOf(other)).toBe(before);
    expect((await fleet.refresh()).body).toMatchObject({ outcome: 'unchanged', toolsets: { listed: ['asked', 'other'] } });
    expect(listsOf(other)).toBe(before + 1);
  });

  test('answers a round that was aborted as well, and tries a failing toolset now', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url });
    const mend = toolset.on('tools/list', respond({ status: 403 }));
    expect((await fleet.refresh('toolset')).body).toMatchObject({ outcome: 'aborted', error: { code: 'TOOLSET_UNAUTHORIZED' } });
    await fleet.untilState('toolset', 'failing');
    mend();
    toolset.tools = [tool('a', 'two')];
    // Left alone, it would be asked again after a minute.
    expect((await fleet.refresh('toolset')).body).toMatchObject({ outcome: 'swapped', trigger: 'manual' });
    expect(await fleet.shown()).toEqual({ a: 'two' });
    expect((await fleet.toolset('toolset')).state).toBe('watching');
  });

  test('reads the index first, so that a new toolset is in its round', async () => {
    const a = await startSdkToolset({ era: 'legacy', tools: [tool('a', 'one')] });
    const b = await startSdkToolset({ era: 'legacy', tools: [tool('b', 'one')] });
    const fleet = await startFleet({ a: a.url }, { env: { MCP_AGENT_API_INDEX_SECONDS: '0' } });
    fleet.index.set({ a: a.url, b: b.url });
    expect((await fleet.refresh('b')).body).toMatchObject({ outcome: 'swapped', changes: { added: ['b'] } });
    expect((await fleet.refresh('c')).status).toBe(404);
    expect(having(fleet.rounds(), 'aborted')).toEqual([]);
  });
});
