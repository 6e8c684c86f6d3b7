import { startFleet, tool } from '../flows/fleet.js';
import { hang } from '../support/raw-answers.js';
import type { RawEra } from '../support/raw-state.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { stays, until } from '../support/until.js';

const ERAS = ['legacy', 'modern'] as const;
const TOOLS = [tool('a', 'one')];
const NO_POLL = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_INDEX_SECONDS: '0.2', MCP_AGENT_API_DEBOUNCE_MS: '20' };

describe('a toolset that is down', () => {
  /** Starts a service whose second toolset has just gone down, and is asked again and again. */
  async function withOneDown(era: RawEra = 'legacy') {
    const steady = await startRawToolset({ tools: [tool('stays', 'one')] });
    const down = await startRawToolset({ era, tools: TOOLS });
    const more = await startRawToolset({ tools: [tool('more', 'one')] });
    const fleet = await startFleet({ stays: steady.url, more: more.url, down: down.url }, { env: NO_POLL });
    await down.close();
    await fleet.untilState('down', 'failing');
    const comeBack = async () => startRawToolset({ era, tools: TOOLS, port: down.port });
    return { fleet, staying: { stays: steady.url, more: more.url }, comeBack };
  }

  test.each(ERAS)('B102: and is taken out of the index meanwhile, is not connected to when it comes back (%s)', async (era) => {
    const { fleet, staying, comeBack } = await withOneDown(era);
    fleet.index.set(staying);
    await until(async () => (await fleet.status()).toolsets.length === 2, { what: 'the toolset to be removed' });
    const back = await comeBack();
    // The farewell to its old session may still be on its way.
    await stays(() => back.requests.every(({ method }) => method === 'DELETE'), { durationMs: 1_000, what: 'no connection' });
  });

  test('B102: while the service stops, is not connected to when it comes back', async () => {
    const { fleet, comeBack } = await withOneDown();
    await fleet.app.stop();
    const back = await comeBack();
    await stays(() => back.acceptedSockets() === 0, { durationMs: 1_000, what: 'no connection' });
  });

  test('B102, variant: and moves to another URL meanwhile, is not connected to at the old one', async () => {
    const { fleet, staying, comeBack } = await withOneDown();
    const elsewhere = await startRawToolset({ tools: TOOLS });
    fleet.index.set({ ...staying, down: elsewhere.url });
    await fleet.untilState('down', 'watching');
    const back = await comeBack();
    await stays(() => back.requests.every(({ method }) => method === 'DELETE'), { durationMs: 1_000, what: 'no connection' });
  });
});

test.each(['initialize', 'notifications/initialized', 'tools/list'])(
  'B102, variant: a toolset that does not answer %s, and is taken out of the index meanwhile, keeps no socket and no session of ours',
  async (what) => {
    const staying = await startRawToolset({ tools: [tool('stays', 'one')] });
    const fleet = await startFleet({ stays: staying.url }, { env: NO_POLL });
    const slow = await startRawToolset({ tools: TOOLS });
    const answer = slow.on(what, hang);
    fleet.index.set({ stays: staying.url, slow: slow.url });
    await until(() => (slow.counts()[what] ?? 0) > 0, { what: `${what} to be asked` });
    fleet.index.set({ stays: staying.url });
    await until(async () => (await fleet.status()).toolsets.length === 1, { what: 'the toolset to be removed' });
    await until(() => slow.openSockets() === 0 && slow.sessions.size === 0, { what: 'no socket and no session' });
    answer();
    const { length } = slow.requests;
    await stays(() => slow.requests.length === length && slow.openSockets() === 0, { durationMs: 400, what: 'silence' });
  },
);
