import { type Fleet, startFleet, tool } from '../flows/fleet.js';
import { onCleanup } from '../support/cleanup.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';
import { type PostgresServer, startPostgres } from './postgres-server.js';

let postgres: PostgresServer;

beforeAll(async () => {
  postgres = await startPostgres();
}, 120_000);

/** Ends the database; it is back at the end of the test at the latest. */
async function crash(): Promise<{ restore(): Promise<void> }> {
  await postgres.crash();
  let down = true;
  const restore = async () => {
    if (down) await postgres.restore();
    down = false;
  };
  onCleanup(restore);
  return { restore };
}

const untilHeld = (fleet: Fleet, name: string) =>
  until(
    async () => {
      const { held } = await fleet.toolset(name);
      if (held?.reason !== 'review') throw new Error(`What waits is ${JSON.stringify(held)}.`);
      return held.fingerprint;
    },
    { what: `a change of ${name} to wait for review`, timeoutMs: 30_000 },
  );

async function approve(fleet: Fleet, fingerprint: string): Promise<{ status: number; body: unknown }> {
  const headers = { authorization: 'Bearer admin-token' };
  const response = await fetch(`${fleet.baseUrl}/refresh/held/${fingerprint}/approve`, { method: 'POST', headers });
  return { status: response.status, body: await response.json() };
}

test('while the store is down a held change stays held, nobody can decide about it, and other toolsets go on', async () => {
  const [kb, web] = await Promise.all(['search', 'open'].map((name) => startSdkToolset({ era: 'legacy', tools: [tool(name, 'v1')] })));
  if (kb === undefined || web === undefined) throw new Error('Two toolsets were started.');
  const env = {
    MCP_AGENT_API_REVIEW: 'kb',
    MCP_AGENT_API_REVIEW_FIRST: 'trust',
    MCP_AGENT_CHECKPOINT: await postgres.createDatabase(),
  };
  const fleet = await startFleet({ kb: kb.url, web: web.url }, { env });
  const shown = () =>
    Object.fromEntries((fleet.app.refresher.current?.agent.tools ?? []).map(({ name, description }) => [name, description]));
  kb.setTools([tool('search', 'v2')]);
  const fingerprint = await untilHeld(fleet, 'kb');
  const { restore } = await crash();
  await until(async () => (await approve(fleet, fingerprint)).status === 503, { timeoutMs: 20_000 });
  expect(await approve(fleet, fingerprint)).toMatchObject({ status: 503, body: { code: 'store_unavailable' } });
  web.setTools([tool('open', 'v2')]);
  await until(() => shown().open === 'v2', { what: 'the change of the other toolset', timeoutMs: 20_000 });
  expect(shown()).toEqual({ search: 'v1', open: 'v2' });
  expect((await fleet.toolset('kb')).held).toMatchObject({ reason: 'review', fingerprint });

  await restore();
  const approved = await until(
    async () => {
      const answer = await approve(fleet, fingerprint);
      return answer.status === 200 ? answer : undefined;
    },
    { what: 'the approval', timeoutMs: 30_000 },
  );
  expect(approved?.body).toMatchObject({ outcome: 'swapped', trigger: 'review' });
  expect(shown()).toEqual({ search: 'v2', open: 'v2' });
}, 120_000);

test('a toolset under review that joins while the store is down fails, instead of being served without what was decided', async () => {
  const [kb, late] = await Promise.all(['search', 'send'].map((name) => startSdkToolset({ era: 'legacy', tools: [tool(name, 'v1')] })));
  if (kb === undefined || late === undefined) throw new Error('Two toolsets were started.');
  const env = { MCP_AGENT_API_REVIEW: 'late', MCP_AGENT_CHECKPOINT: await postgres.createDatabase() };
  const fleet = await startFleet({ kb: kb.url }, { env });
  const { restore } = await crash();
  fleet.index.set({ kb: kb.url, late: late.url });
  await until(async () => (await fleet.status()).toolsets.some(({ name }) => name === 'late'));
  expect((await fleet.untilState('late', 'failing')).error).toMatchObject({ code: 'REVIEW_UNKNOWN' });
  expect(fleet.app.refresher.current?.agent.tools.map(({ name }) => name)).toEqual(['search']);
  expect((await fleet.readiness()).status).toBe(200);

  await restore();
  await untilHeld(fleet, 'late');
  expect(fleet.app.refresher.current?.agent.tools.map(({ name }) => name)).toEqual(['search']);
}, 120_000);
