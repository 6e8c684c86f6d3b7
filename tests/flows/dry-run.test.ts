import type { Preview } from '../../src/core/change-report.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { ADMIN, startFleet, tool } from './fleet.js';

const OWN = { authorization: 'Bearer kb-token' };

async function dryRun(baseUrl: string, { headers = ADMIN, toolset }: { headers?: Record<string, string>; toolset?: string } = {}) {
  const response = await fetch(`${baseUrl}/refresh?dry=true`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ toolset }),
  });
  return { status: response.status, preview: (await response.json()) as Preview };
}

test('a dry run lists, says what would change, and swaps nothing', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'v1'), tool('old', 'goes')] });
  const web = await startSdkToolset({ era: 'legacy', tools: [tool('open', 'v1')] });
  const fleet = await startFleet({ kb: kb.url, web: web.url }, { env: { MCP_AGENT_API_REFRESH_SECONDS: '0' } });
  const before = await fleet.toolset('kb');
  expect((await dryRun(fleet.baseUrl)).preview.outcome).toBe('unchanged');
  kb.setTools([tool('search', 'v2'), tool('new', 'comes')], { notify: false });

  const { preview } = await dryRun(fleet.baseUrl);
  expect(preview).toMatchObject({
    outcome: 'would-swap',
    toolsets: [
      { name: 'kb', outcome: 'would-swap', classes: ['added', 'text'], error: null },
      { name: 'web', outcome: 'unchanged', classes: [], error: null },
    ],
    changes: { added: ['new'], removed: ['old'], changed: ['search'] },
  });
  expect(preview.toolsets[0]?.fingerprint).not.toBe(before.fingerprint);
  const rounds = fleet.rounds().length;
  expect(await fleet.shown()).toEqual({ old: 'goes', open: 'v1', search: 'v1' });
  expect((await fleet.toolset('kb')).fingerprint).toBe(before.fingerprint);
  await fleet.refresh('kb');
  expect((await fleet.toolset('kb')).fingerprint).toBe(preview.toolsets[0]?.fingerprint);
  expect(fleet.rounds()).toHaveLength(rounds + 1);
});

test("a toolset that fails says so, with the reason for administrators and for its own token; another's token is refused", async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'v1')] });
  const web = await startRawToolset({ tools: [tool('open', 'v1')] });
  const env = { MCP_AGENT_API_REFRESH_TOKENS: 'kb=kb-token' };
  const fleet = await startFleet({ kb: kb.url, web: web.url }, { env });
  await web.close();
  const { preview } = await dryRun(fleet.baseUrl);
  expect(preview).toMatchObject({
    outcome: 'failed',
    toolsets: [
      { name: 'kb', outcome: 'unchanged' },
      { name: 'web', outcome: 'failed', fingerprint: null, error: { code: expect.any(String), message: expect.any(String) } },
    ],
  });
  const own = await dryRun(fleet.baseUrl, { headers: OWN, toolset: 'kb' });
  expect([own.status, own.preview.toolsets.map(({ name }) => name)]).toEqual([200, ['kb']]);
  expect((await dryRun(fleet.baseUrl, { headers: OWN, toolset: 'web' })).status).toBe(403);
  expect((await dryRun(fleet.baseUrl, { headers: OWN })).status).toBe(403);
  expect((await dryRun(fleet.baseUrl, { toolset: 'nobody' })).status).toBe(404);
});

test('a list that is suddenly empty would be held', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'v1')] });
  const fleet = await startFleet({ kb: kb.url });
  kb.setTools([], { notify: false });
  expect((await dryRun(fleet.baseUrl)).preview.outcome).toBe('would-hold');
  expect(await fleet.shown()).toEqual({ search: 'v1' });
});
