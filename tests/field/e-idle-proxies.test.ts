import { having, startFleet, tool } from '../flows/fleet.js';
import { hang } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { startProxy } from '../support/tcp-proxy.js';
import { stays, until } from '../support/until.js';
import { toolTurn } from './tool-turn.js';

const DEBOUNCE = { MCP_AGENT_API_DEBOUNCE_MS: '20' };
const ERAS = ['legacy', 'modern'] as const;
const opens = (toolset: RawToolset) => (toolset.counts().GET ?? 0) + (toolset.counts()['subscriptions/listen'] ?? 0);

describe.each(ERAS)('a proxy in front of a %s toolset', (era) => {
  test('B34: that holds headers back until the first byte and ends idle streams delays no start and is not asked in a hot loop', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')], streamHeaders: 'with the first byte' });
    // The acknowledgement would be a first byte.
    if (era === 'modern') toolset.on('subscriptions/listen', hang);
    const proxy = await startProxy(toolset.port);
    proxy.idleTimeoutMs = 300;
    proxy.idleEnd = era === 'legacy' ? 'rst' : 'fin';
    const env = { ...DEBOUNCE, MCP_AGENT_API_POLLING_SECONDS: '0.3' };
    const fleet = await startFleet({ toolset: `${proxy.origin}/mcp` }, { env });
    expect(await fleet.toolset('toolset')).toMatchObject({ state: 'polling', error: null });
    const before = opens(toolset);
    // Three attempts a second would be a loop without back-off: each lives for 300 ms.
    await stays(() => opens(toolset) - before <= 6, { durationMs: 2_500, what: 'attempts that become rarer' });
    // A call may meet a connection that the proxy ends at this very moment; then the model is told, and its next call works.
    await until(async () => (await toolTurn(fleet, 'a')).result.includes('{}'), { what: 'a call to work' });
    expect(fleet.app.refresher.current?.number).toBe(1);
    toolset.tools = [tool('a', 'two')];
    await fleet.untilGeneration(2);
    expect(having(fleet.rounds(), 'aborted')).toEqual([]);
  });

  test('B34, variant: that ends idle streams, with a toolset that keeps them alive, ends none', async () => {
    const toolset = await startRawToolset({ era, tools: [tool('a', 'one')], keepAliveMs: 100 });
    const proxy = await startProxy(toolset.port);
    proxy.idleTimeoutMs = 1_000;
    const fleet = await startFleet({ toolset: `${proxy.origin}/mcp` }, { env: { ...DEBOUNCE, MCP_AGENT_API_REFRESH_SECONDS: '0' } });
    await stays(() => opens(toolset) === 1, { durationMs: 1_500, what: 'one stream' });
    toolset.tools = [tool('a', 'two')];
    toolset.push();
    await fleet.untilGeneration(2);
  });
});
