import { startFleet, tool } from '../flows/fleet.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { startProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { stays, until } from '../support/until.js';
import { toolTurn } from './tool-turn.js';

/** Nothing but the stream can find anything. */
const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_DEBOUNCE_MS: '20', MCP_AGENT_API_HEARTBEAT_SECONDS: '0' };
const BEAT_MS = 300;
const opens = (toolset: RawToolset) => (toolset.counts().GET ?? 0) + (toolset.counts()['subscriptions/listen'] ?? 0);

describe.each(['legacy', 'modern'] as const)('a %s toolset behind a network with teeth', (era) => {
  async function start(env: Record<string, string> = NO_POLL) {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')], keepAliveMs: BEAT_MS });
    const proxy = await startProxy(toolset.port);
    const fleet = await startFleet({ toolset: `${proxy.origin}/mcp` }, { env });
    const change = async (description: string) => {
      toolset.tools = [tool('a', description)];
      toolset.push();
      await until(async () => (await fleet.shown()).a === description, { what: `"${description}" to be shown` });
    };
    return { toolset, proxy, fleet, change };
  }

  test.each(['down', 'both'] as const)(
    'that swallows what comes %s: the stream is found dead within three missed beats, and changes are heard again',
    async (way) => {
      const { toolset, proxy, fleet, change } = await start();
      const before = opens(toolset);
      // Beats count once they came at a regular interval.
      await stays(() => opens(toolset) === before, { durationMs: BEAT_MS * 5, what: 'one stream while beats come' });
      toolset.tools = [tool('a', 'unheard')];
      proxy.blackHoleOpen(way);
      toolset.push();
      const startedAt = performance.now();
      await until(() => opens(toolset) > before, { what: 'a new stream', timeoutMs: BEAT_MS * 3 + 4_000 });
      expect(performance.now() - startedAt).toBeGreaterThan(BEAT_MS);
      // The lost notification is made good by the list that follows a new stream.
      await until(async () => (await fleet.shown()).a === 'unheard', { what: 'the change that was not heard' });
      await change('heard');
      expect((await fleet.toolset('toolset')).state).toBe('watching');
    },
  );

  const ends: readonly [string, (proxy: TcpProxy) => void][] = [
    ['cuts connections with a reset', (proxy) => proxy.cut('rst')],
    ['closes connections in order', (proxy) => proxy.cut('fin')],
    ['half-closes connections', (proxy) => proxy.halfClose()],
  ];
  test.each(ends)('that %s: the stream is open again at once, what happened meanwhile is found, and nothing fails', async (_what, end) => {
    const { toolset, proxy, fleet, change } = await start();
    const before = opens(toolset);
    toolset.tools = [tool('a', 'unheard')];
    end(proxy);
    await until(() => opens(toolset) > before, { what: 'a new stream', timeoutMs: 3_000 });
    await until(async () => (await fleet.shown()).a === 'unheard');
    await fleet.untilState('toolset', 'watching');
    await change('heard');
    expect((await toolTurn(fleet, 'a')).result).toBe('{}');
  });

  test('that delays every packet: all is slower, and nothing fails or loops', async () => {
    const { toolset, proxy, fleet, change } = await start();
    proxy.delayMs = 250;
    const before = opens(toolset);
    await change('late');
    expect((await toolTurn(fleet, 'a')).result).toBe('{}');
    expect(opens(toolset)).toBe(before);
    expect((await fleet.toolset('toolset')).failures).toBe(0);
  });

  test('that swallows what goes up: the next poll finds it, the tools stay, and it heals by itself', async () => {
    const { proxy, fleet, change } = await start({
      ...NO_POLL,
      MCP_AGENT_API_REFRESH_SECONDS: '1',
      MCP_AGENT_API_LIST_TIMEOUT_SECONDS: '0.5',
    });
    proxy.blackHole('up', true);
    expect((await fleet.untilState('toolset', 'failing')).error?.code).toBe('LIST_TIMEOUT');
    expect(await fleet.shown()).toEqual({ a: 'one' });
    proxy.blackHole('up', false);
    await fleet.untilState('toolset', 'watching');
    await change('healed');
  });
});
