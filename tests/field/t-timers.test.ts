import { systemClock } from '../../src/system-clock.js';
import { listsOf, startFleet, tool } from '../flows/fleet.js';
import { onCleanup } from '../support/cleanup.js';
import { ManualClock } from '../support/manual-clock.js';
import { respond } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { stays, until } from '../support/until.js';

/** Node warns when it cuts a timer that is too long down to one millisecond. */
function watchWarnings(): readonly Error[] {
  const warnings: Error[] = [];
  const warn = (warning: Error) => void warnings.push(warning);
  process.on('warning', warn);
  onCleanup(() => process.off('warning', warn));
  return warnings;
}

/** The longest duration that is accepted, for everything that may be so long. 30 days are more, and are refused at the start (10; tests/config/config.test.ts). */
const LONGEST = '2147483';
const ALL_LONGEST = {
  MCP_AGENT_API_REFRESH_SECONDS: LONGEST,
  MCP_AGENT_API_POLLING_SECONDS: LONGEST,
  MCP_AGENT_API_INDEX_SECONDS: LONGEST,
  MCP_AGENT_API_LIST_TIMEOUT_SECONDS: LONGEST,
  MCP_AGENT_API_HEARTBEAT_SECONDS: LONGEST,
  MCP_AGENT_API_STARTUP_SECONDS: LONGEST,
  MCP_AGENT_API_RUN_SECONDS: LONGEST,
  MCP_AGENT_API_TOOL_SECONDS: LONGEST,
  MCP_AGENT_API_DRAIN_SECONDS: LONGEST,
};

describe('durations that are too long for a timer of Node', () => {
  test('B148: in every setting at once neither fire at once nor cause a warning', async () => {
    const warnings = watchWarnings();
    const watching = await startRawToolset({ tools: [tool('a', 'one')] });
    const polling = await startRawToolset({ era: 'stateless', tools: [tool('b', 'one')] });
    const fleet = await startFleet({ watching: watching.url, polling: polling.url }, { env: ALL_LONGEST });
    fleet.model.reply(({ body }) => (body.messages.at(-1)?.role === 'tool' ? { text: 'done' } : { toolCalls: [{ name: 'a', args: {} }] }));
    expect(Object.keys(await fleet.shown()).sort()).toEqual(['a', 'b']);
    const requests = () => watching.requests.length + polling.requests.length + fleet.index.requests.length;
    const before = requests();
    await stays(() => requests() === before, { durationMs: 1_000, what: 'silence' });
    expect(warnings).toEqual([]);
  });

  test.each(['2147484', '2592000', '1000000000000000', 'Thu, 31 Dec 9999 23:59:59 GMT'])(
    'B148: in `Retry-After` (%s) are followed for an hour at most, and a request asks at once',
    async (retryAfter) => {
      const warnings = watchWarnings();
      const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
      const fleet = await startFleet({ toolset: toolset.url }, { env: { MCP_AGENT_API_REFRESH_SECONDS: '0' } });
      const heal = toolset.on('tools/list', respond({ status: 503, headers: { 'retry-after': retryAfter } }));
      toolset.push();
      const { retryAt } = await fleet.untilState('toolset', 'failing');
      const waitMs = Date.parse(retryAt ?? '') - Date.now();
      expect(waitMs).toBeGreaterThan(50 * 60_000);
      expect(waitMs).toBeLessThan(70 * 60_000);
      const lists = listsOf(toolset);
      await stays(() => listsOf(toolset) === lists, { durationMs: 300, what: 'no list' });
      expect(warnings).toEqual([]);
      heal();
      expect((await fleet.refresh('toolset')).status).toBe(200);
      await fleet.untilState('toolset', 'watching');
    },
  );

  test.each([2 ** 31, 30 * 86_400_000, 1e15])('B148: as a timer of the system clock (%d ms) wait, and can be cancelled', async (ms) => {
    const warnings = watchWarnings();
    let fired = false;
    const cancel = systemClock.after(ms, () => {
      fired = true;
    });
    await stays(() => !fired, { durationMs: 100, what: 'no fire' });
    cancel();
    expect(warnings).toEqual([]);
  });

  test('B148: as interval of the safety poll put the next list days away, not now and not later than the interval and a tenth', async () => {
    const clock = new ManualClock();
    const toolset = await startRawToolset({ era: 'stateless', tools: [tool('a', 'one')] });
    const env = { ...ALL_LONGEST, MCP_AGENT_API_INDEX_SECONDS: '0', MCP_AGENT_API_HEARTBEAT_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '0' };
    const fleet = await startFleet({ toolset: toolset.url }, { env, clock, wait: false });
    await until(
      async () => {
        await clock.advance(1);
        return fleet.app.refresher.current?.number === 1;
      },
      { what: 'the first generation' },
    );
    const { nextListAt } = await fleet.toolset('toolset');
    const days = (Date.parse(nextListAt ?? '') - clock.date().getTime()) / 86_400_000;
    expect(days).toBeGreaterThan(0.01);
    expect(days).toBeLessThan(25 * 1.1);
  });
});

describe('durations of 0', () => {
  test('B149: as debounce list at once, and a burst costs no list for each notification', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    const env = { MCP_AGENT_API_DEBOUNCE_MS: '0', MCP_AGENT_API_REFRESH_SECONDS: '0' };
    const fleet = await startFleet({ toolset: toolset.url }, { env });
    const before = listsOf(toolset);
    toolset.tools = [tool('a', 'two')];
    for (let count = 0; count < 50; count += 1) toolset.push();
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'two' });
    await stays(() => listsOf(toolset) <= before + 5, { durationMs: 1_500, what: 'few lists' });
  });

  test('B149: as poll, index and heartbeat interval mean never', async () => {
    const toolset = await startRawToolset({ era: 'stateless', tools: [tool('a', 'one')] });
    const env = {
      MCP_AGENT_API_REFRESH_SECONDS: '0',
      MCP_AGENT_API_INDEX_SECONDS: '0',
      MCP_AGENT_API_HEARTBEAT_SECONDS: '0',
      MCP_AGENT_API_READY_SECONDS: '0',
    };
    const fleet = await startFleet({ toolset: toolset.url }, { env });
    const requests = () => toolset.requests.length + fleet.index.requests.length;
    const before = requests();
    await stays(() => requests() === before, { durationMs: 1_000, what: 'silence' });
    expect((await fleet.toolset('toolset')).nextListAt).toBeNull();
  });
});
