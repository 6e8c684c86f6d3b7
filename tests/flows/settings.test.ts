import { fastClock } from '../field/fast-clock.js';
import { sqliteLocation } from '../store/open.js';
import { runTurn } from '../support/run-client.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';
import { startFleet, tool } from './fleet.js';

test('MCP_AGENT_API_SYSTEM_PROMPT comes first in what the model is sent, before the instructions of the toolsets (6.5)', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'one')], instructions: 'Search before you answer.' });
  const prompt = 'You are the librarian of this house.';
  const fleet = await startFleet({ kb: kb.url }, { env: { MCP_AGENT_API_SYSTEM_PROMPT: prompt } });
  await runTurn(fleet.baseUrl, { text: 'hi' });
  const [system] = fleet.model.requests[0]?.body.messages ?? [];
  expect(system?.role).toBe('system');
  const content = JSON.stringify(system?.content);
  expect(content.indexOf(prompt)).toBeGreaterThanOrEqual(0);
  expect(content.indexOf('Search before you answer.')).toBeGreaterThan(content.indexOf(prompt));
});

test('MCP_AGENT_API_CORS_ORIGINS lets the pages of these origins use the API, and no others', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'one')] });
  const fleet = await startFleet({ kb: kb.url }, { env: { MCP_AGENT_API_CORS_ORIGINS: 'https://one.example, https://two.example' } });
  const allowed = async (origin: string) =>
    (await fetch(`${fleet.baseUrl}/connections`, { headers: { origin } })).headers.get('access-control-allow-origin');
  expect(await allowed('https://one.example')).toBe('https://one.example');
  expect(await allowed('https://two.example')).toBe('https://two.example');
  expect(await allowed('https://three.example')).toBeNull();
});

test('MCP_AGENT_THREAD_DAYS makes the service forget threads that nobody has used for so long', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'one')] });
  const env = {
    MCP_AGENT_CHECKPOINT: await sqliteLocation(),
    MCP_AGENT_API_LIST_TIMEOUT_SECONDS: '200',
    MCP_AGENT_API_REFRESH_SECONDS: '0',
  };
  const first = await startFleet({ kb: kb.url }, { env });
  await runTurn(first.baseUrl, { text: 'hi', threadId: 'old' });
  await first.app.stop();
  // The first look at the threads comes 10 s after the start; the clock makes that half a second.
  const clock = { ...fastClock(20), date: () => new Date(Date.now() + 8 * 86_400_000) };
  const kept = await startFleet({ kb: kb.url }, { env: { ...env, MCP_AGENT_THREAD_DAYS: '9' }, clock });
  const startedAt = performance.now();
  await until(() => performance.now() - startedAt > 1_000);
  expect((await fetch(`${kept.baseUrl}/threads/old`)).status).toBe(200);
  await kept.app.stop();
  const forgetting = await startFleet({ kb: kb.url }, { env: { ...env, MCP_AGENT_THREAD_DAYS: '7' }, clock });
  await until(async () => (await fetch(`${forgetting.baseUrl}/threads/old`)).status === 404);
});
