import { buildCommand } from '../flows/build.js';
import { tool } from '../flows/fleet.js';
import { type PostgresServer, startPostgres } from '../store/postgres-server.js';
import { startReplica } from '../store/replica.js';
import { startIndex } from '../support/index-server.js';
import { startModelServer } from '../support/model-server.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';
import { run } from './run.js';

let postgres: PostgresServer;
let built: { folder: string; script: string };

beforeAll(async () => {
  [postgres, built] = await Promise.all([startPostgres(), buildCommand()]);
}, 120_000);

test('with --expect the command ends only when every replica serves the fingerprint', async () => {
  // Nobody is told and nobody polls: one replica learns of the change from the command, the other from its fellow.
  const kb = await startSdkToolset({ era: 'stateless', tools: [tool('search', 'Old.')] });
  const index = await startIndex({ kb: kb.url });
  const model = await startModelServer();
  const checkpoint = await postgres.createDatabase();
  const start = () => startReplica({ ...built, mcpUrl: index.url, model, checkpoint, env: { MCP_AGENT_API_REFRESH_SECONDS: '0' } });
  const [one, two] = await Promise.all([start(), start()]);
  await until(async () => (await one.status()).replicas.length === 2 && (await two.status()).replicas.length === 2);

  kb.setTools([tool('search', 'New.')], { notify: false });
  const fingerprint = run(['fingerprint', kb.url]);
  expect(await fingerprint.ended).toBe(0);
  const [expected = ''] = fingerprint.out;
  const argv = ['refresh', one.baseUrl, '--toolset', 'kb', '--expect', expected];
  const command = run(argv, { env: { MCP_AGENT_API_ADMIN_TOKEN: 'admin-token' } });
  expect(await command.ended).toBe(0);
  for (const replica of [one, two]) expect((await replica.status()).toolsets[0]?.fingerprint).toBe(expected);
  expect(command.notes.at(-1)).toBe('Served by all 2 replicas.');

  // A replica that stands still is waited for, as long as the time lasts.
  two.process.signal('SIGSTOP');
  kb.setTools([tool('search', 'Newer.')], { notify: false });
  const newer = run(['fingerprint', kb.url]);
  expect(await newer.ended).toBe(0);
  const waiting = run([...argv.slice(0, -1), newer.out[0] ?? '', '--timeout', '4'], { env: { MCP_AGENT_API_ADMIN_TOKEN: 'admin-token' } });
  expect(await waiting.ended).toBe(1);
  expect(waiting.out[0]).toMatch(/^swapped: /);
  expect(waiting.notes.at(-1)).toMatch(/of 2 replicas differ/);
  two.process.signal('SIGCONT');
}, 90_000);
