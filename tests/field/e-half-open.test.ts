import { startFleet, tool } from '../flows/fleet.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { startProxy } from '../support/tcp-proxy.js';
import { stays, until } from '../support/until.js';
import { toolTurn } from './tool-turn.js';

const DEBOUNCE = { MCP_AGENT_API_DEBOUNCE_MS: '20' };
/** A poll often enough to find a dead connection within a test. */
const POLLED = { ...DEBOUNCE, MCP_AGENT_API_REFRESH_SECONDS: '1', MCP_AGENT_API_LIST_TIMEOUT_SECONDS: '0.5' };
const ERAS = ['legacy', 'modern'] as const;
const opens = (toolset: RawToolset) => (toolset.counts().GET ?? 0) + (toolset.counts()['subscriptions/listen'] ?? 0);

describe.each(ERAS)('a proxy in front of a %s toolset', (era) => {
  test('B35: that swallows everything, without closing anything, is noticed at the next poll; tools stay, and afterwards one stream is open', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    const proxy = await startProxy(toolset.port);
    const fleet = await startFleet({ toolset: `${proxy.origin}/mcp` }, { env: POLLED });
    proxy.blackHole('both', true);
    expect(await fleet.untilState('toolset', 'failing')).toMatchObject({ tools: 1, error: { code: 'LIST_TIMEOUT' } });
    expect(await fleet.shown()).toEqual({ a: 'one' });
    toolset.tools = [tool('a', 'two')];
    toolset.push();
    const before = opens(toolset);
    proxy.blackHole('both', false);
    await fleet.untilGeneration(2);
    await until(() => opens(toolset) > before, { what: 'a new stream' });
    await fleet.untilState('toolset', 'watching');
    expect(await fleet.shown()).toEqual({ a: 'two' });
    await until(() => toolset.streams.size === 1, { what: 'no second stream to be left' });
    await stays(() => toolset.streams.size === 1, { durationMs: 300 });
    toolset.tools = [tool('a', 'three')];
    toolset.push();
    await fleet.untilGeneration(3);
  });

  test('B35, variant: that drops the connections there are, while new ones work: the stream is made anew although nothing ended it', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    const proxy = await startProxy(toolset.port);
    const fleet = await startFleet({ toolset: `${proxy.origin}/mcp` }, { env: POLLED });
    const before = opens(toolset);
    proxy.blackHoleOpen('both');
    await until(() => opens(toolset) > before, { what: 'a new stream' });
    await fleet.untilState('toolset', 'watching');
    toolset.tools = [tool('a', 'two')];
    toolset.push();
    await fleet.untilGeneration(2);
    expect((await fleet.toolset('toolset')).missedSignals).toBe(0);
  });

  test('B35, variant: that swallows a call makes it an error for the model, and the run goes on', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')] });
    const proxy = await startProxy(toolset.port);
    const env = { ...DEBOUNCE, MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_TOOL_SECONDS: '0.5' };
    const fleet = await startFleet({ toolset: `${proxy.origin}/mcp` }, { env });
    proxy.blackHole('both', true);
    const { events, result } = await toolTurn(fleet, 'a');
    expect(result).not.toBe('');
    expect(events.at(-1)?.type).toBe('RUN_FINISHED');
  });
});
