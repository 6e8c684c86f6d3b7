import { listsOf, startFleet, tool } from '../flows/fleet.js';
import { rpcResult } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { stays } from '../support/until.js';

/** Nothing but a signal can find a change within these tests, except where a test sets a poll. */
const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20' };

describe('how long a list may be kept, as the server sees it', () => {
  test('B134: an hour keeps neither a notification nor a poll from asking again', async () => {
    const toolset = await startRawToolset({ era: 'modern', tools: [] });
    toolset.on('tools/list', (exchange) =>
      rpcResult({ resultType: 'complete', tools: toolset.tools, ttlMs: 3_600_000, cacheScope: 'public' })(exchange),
    );
    toolset.tools = [tool('a', 'one')];
    const fleet = await startFleet({ toolset: toolset.url }, { env: { ...NO_POLL, MCP_AGENT_API_REFRESH_SECONDS: '1' } });
    toolset.tools = [tool('a', 'announced')];
    toolset.push();
    await fleet.untilGeneration(2);
    expect(await fleet.shown()).toEqual({ a: 'announced' });
    toolset.tools = [tool('a', 'found by the poll')];
    await fleet.untilGeneration(3);
    expect(await fleet.shown()).toEqual({ a: 'found by the poll' });
  });

  test.each([-1, 'abc', 1e15, null, undefined, {}, 2 ** 31])(
    'B134: %j is no reason to refuse a list, and starts no timer of its own',
    async (ttlMs) => {
      const toolset = await startRawToolset({ era: 'modern', tools: [tool('a', 'one')] });
      const warnings: Error[] = [];
      const warn = (warning: Error) => void warnings.push(warning);
      process.on('warning', warn);
      try {
        const withTtl = (result: object) => ({ resultType: 'complete', ...result, ...(ttlMs !== undefined && { ttlMs }) });
        toolset.on('tools/list', (exchange) => rpcResult(withTtl({ tools: toolset.tools }))(exchange));
        toolset.on('server/discover', (exchange) =>
          rpcResult(withTtl({ supportedVersions: ['2026-07-28'], capabilities: toolset.capabilities, cacheScope: 'private' }))(exchange),
        );
        const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
        expect(await fleet.toolset('toolset')).toMatchObject({ state: 'watching', protocol: '2026-07-28' });
        const lists = listsOf(toolset);
        await stays(() => listsOf(toolset) === lists, { durationMs: 200, what: 'no list that nobody asked for' });
        toolset.tools = [tool('a', 'two')];
        toolset.push();
        await fleet.untilGeneration(2);
        expect(await fleet.shown()).toEqual({ a: 'two' });
        expect(warnings).toEqual([]);
      } finally {
        process.off('warning', warn);
      }
    },
  );

  test('B134: a list that fails after its time is over leaves the old one in use, and says so', async () => {
    const toolset = await startRawToolset({ era: 'modern', tools: [tool('a', 'one')] });
    const fleet = await startFleet({ toolset: toolset.url }, { env: NO_POLL });
    const heal = toolset.on('tools/list', rpcResult({ resultType: 'complete', ttlMs: 0 }));
    toolset.push();
    await fleet.untilState('toolset', 'failing');
    expect(await fleet.shown()).toEqual({ a: 'one' });
    expect(fleet.log).toContainEqual(expect.objectContaining({ level: 'warn', message: 'toolset failing' }));
    heal();
  });
});
