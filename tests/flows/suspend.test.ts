import { fastClock } from '../field/fast-clock.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { stays } from '../support/until.js';
import { listsOf, startFleet, tool } from './fleet.js';

test('after the machine slept every toolset is listed once, also the one that said nothing (4.9)', async () => {
  const toolsets = await Promise.all(['a', 'b'].map((name) => startSdkToolset({ era: 'legacy', tools: [tool(name, 'one')] })));
  const [a, b] = toolsets as [(typeof toolsets)[0], (typeof toolsets)[0]];
  let sleptMs = 0;
  const clock = { ...fastClock(10), date: () => new Date(Date.now() + sleptMs) };
  // Nothing but the sleep can lead to a list here. The clock is fast, so a list gets ten times as long.
  const env = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_INDEX_SECONDS: '0', MCP_AGENT_API_LIST_TIMEOUT_SECONDS: '100' };
  const fleet = await startFleet({ a: a.url, b: b.url }, { env, clock });
  await Promise.all(['a', 'b'].map((name) => fleet.untilState(name, 'watching')));
  a.setTools([tool('a', 'changed while nobody listened')], { notify: false });
  const before = toolsets.map(listsOf);
  await stays(() => listsOf(a) === before[0], { durationMs: 300 });
  sleptMs = 8 * 3_600_000;
  await fleet.untilGeneration(2);
  expect(await fleet.shown()).toEqual({ a: 'changed while nobody listened', b: 'one' });
  expect(fleet.rounds().find(({ generation, outcome }) => generation === 2 && outcome === 'swapped')).toMatchObject({
    trigger: 'reconnect',
    toolsets: { listed: ['a', 'b'], swapped: ['a'] },
  });
  expect(toolsets.map(listsOf)).toEqual(before.map((lists) => lists + 1));
  expect(fleet.log.filter(({ message }) => message === 'clock jumped')).toHaveLength(1);
});
