import { having, startFleet, tool } from '../flows/fleet.js';
import { respond } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { stays } from '../support/until.js';
import { fastClock } from './fast-clock.js';
import { toolTurn } from './tool-turn.js';

/** Nothing but a signal can find a change within these tests, except where a test sets a poll. */
const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };
/** For services whose clock runs fast: the index is read once, and limits that only bound failures stay long enough for a slow machine. */
const FAST = {
  MCP_AGENT_API_REFRESH_SECONDS: '0',
  MCP_AGENT_API_INDEX_SECONDS: '0',
  MCP_AGENT_API_LIST_TIMEOUT_SECONDS: '200',
  MCP_AGENT_API_STARTUP_SECONDS: '6000',
};

describe('a stream that is refused', () => {
  test.each([400, 401, 404, 406, 501])(
    'B32: with %i leaves tools usable, is asked for once a minute at most, and nothing is made anew',
    async (status) => {
      const toolset = await startRawToolset({ era: 'stateless', tools: [tool('a', 'one')] });
      toolset.on('GET', respond({ status }));
      const env = { ...FAST, MCP_AGENT_API_REFRESH_SECONDS: '1800', MCP_AGENT_API_POLLING_SECONDS: '10' };
      const fleet = await startFleet({ toolset: toolset.url }, { env, clock: fastClock(50) });
      expect(await fleet.toolset('toolset')).toMatchObject({ state: 'polling', error: null });
      toolset.tools = [tool('a', 'two')];
      await fleet.untilGeneration(2);
      expect((await toolTurn(fleet, 'a')).result).toContain('{}');
      const gets = toolset.counts().GET ?? 0;
      await stays(() => (toolset.counts().GET ?? 0) <= gets + 1, { durationMs: 58_000 / 50, what: 'one GET a minute' });
      expect(toolset.counts().initialize).toBe(1);
      expect(having(fleet.rounds(), 'aborted')).toEqual([]);
    },
  );

  test.each([
    ['200 with a web page', respond({ headers: { 'content-type': 'text/html' }, body: '<html>Hello</html>' })],
    ['200 with JSON', respond({ body: { ok: true } })],
    ['204', respond({ status: 204 })],
    ['a redirect to a sign-in page', respond({ status: 302, headers: { location: '/login' } })],
    ['429', respond({ status: 429, headers: { 'retry-after': '1' } })],
  ])('B32, variant: by %s leaves tools usable and the toolset polled', async (_what, answer) => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    toolset.on('GET', answer);
    const fleet = await startFleet({ toolset: toolset.url }, { env: { MCP_AGENT_API_POLLING_SECONDS: '0.2' } });
    expect(await fleet.toolset('toolset')).toMatchObject({ state: 'polling', error: null });
    toolset.tools = [tool('a', 'two')];
    await fleet.untilGeneration(2);
    expect((await toolTurn(fleet, 'a')).result).toContain('{}');
    expect(toolset.counts().initialize).toBe(1);
  });

  test('B32, variant: at first, and not any more when the service restarts behind it, is opened without waiting for a poll', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    toolset.on('GET', respond({ status: 503 }), { times: 4 });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    await fleet.untilState('toolset', 'watching');
    toolset.tools = [tool('a', 'two')];
    toolset.push();
    await fleet.untilGeneration(2);
  });
});
