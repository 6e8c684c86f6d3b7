import { buildCommand } from '../flows/build.js';
import { tool } from '../flows/fleet.js';
import { startIndex } from '../support/index-server.js';
import { startModelServer } from '../support/model-server.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';
import { type PostgresServer, startPostgres } from './postgres-server.js';
import { type Replica, startReplica } from './replica.js';

let postgres: PostgresServer;
let folder: string;
let script: string;

beforeAll(async () => {
  [postgres, { folder, script }] = await Promise.all([startPostgres(), buildCommand()]);
}, 120_000);

const kbOf = async (replica: Replica) => (await replica.status()).toolsets.find(({ name }) => name === 'kb');

const untilHeld = (replica: Replica, other?: string) =>
  until(
    async () => {
      const held = (await kbOf(replica))?.held;
      if (held?.reason !== 'review' || held.fingerprint === other) throw new Error(`What waits is ${JSON.stringify(held)}.`);
      return held.fingerprint;
    },
    { what: 'a change to wait', timeoutMs: 20_000 },
  );

async function decide(replica: Replica, fingerprint: string, how: 'approve' | 'reject'): Promise<{ status: number; outcome?: string }> {
  const response = await fetch(`${replica.baseUrl}/refresh/held/${fingerprint}/${how}`, {
    method: 'POST',
    headers: { authorization: 'Bearer admin-token' },
  });
  return { status: response.status, ...((await response.json()) as object) };
}

test('a decision on one replica holds on every other one, also on one that starts later', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'v1')] });
  const index = await startIndex({ kb: kb.url });
  const model = await startModelServer({ strict: true });
  const checkpoint = await postgres.createDatabase();
  const env = { MCP_AGENT_API_REVIEW: 'kb', MCP_AGENT_API_REVIEW_FIRST: 'trust' };
  const start = () => startReplica({ folder, script, mcpUrl: index.url, model, checkpoint, env });
  const [one, two] = await Promise.all([start(), start()]);

  kb.setTools([tool('search', 'v2')]);
  const approved = await untilHeld(one);
  expect(await untilHeld(two)).toBe(approved);
  expect(await decide(one, approved, 'approve')).toMatchObject({ status: 200, outcome: 'swapped' });
  await until(async () => (await kbOf(two))?.fingerprint === approved, { what: 'the other replica to serve it', timeoutMs: 20_000 });
  expect((await kbOf(two))?.held).toBeNull();
  expect((await decide(two, approved, 'reject')).status).toBe(409);

  kb.setTools([tool('search', 'v3')]);
  const rejected = await untilHeld(one, approved);
  expect(await untilHeld(two, approved)).toBe(rejected);
  expect(await decide(two, rejected, 'reject')).toMatchObject({ status: 200, outcome: 'unchanged' });
  await until(async () => (await kbOf(one))?.held === null, { what: 'the other replica to hold it no more', timeoutMs: 20_000 });

  const three = await start();
  expect(await kbOf(three)).toMatchObject({ fingerprint: approved, held: null });
  const history = (await three.get('/generations')).body as { decisions: readonly { fingerprint: string; decision: string }[] };
  expect(history.decisions.map(({ fingerprint, decision }) => [fingerprint, decision])).toEqual([
    [rejected, 'rejected'],
    [approved, 'approved'],
  ]);
}, 90_000);
