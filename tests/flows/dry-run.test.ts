import type { Preview } from '../../src/core/change-report.js';
import { ToolsetRefresher } from '../../src/refresh/refresher.js';
import { onCleanup } from '../support/cleanup.js';
import { startIndex } from '../support/index-server.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';
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

test('a change from which no agent can be built would be rejected; what others changed would go live all the same', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'v1')] });
  const web = await startSdkToolset({ era: 'legacy', tools: [tool('open', 'v1')] });
  const index = await startIndex({ kb: kb.url, web: web.url });
  const built: string[] = [];
  const refresher = new ToolsetRefresher({
    url: index.url,
    everySeconds: 0,
    build: ({ snapshots }) => {
      const names = snapshots.flatMap(({ tools }) => tools.map(({ name }) => name));
      if (names.includes('unbuildable')) throw new Error('no agent with this tool');
      built.push(names.join(' '));
      return { built: built.length };
    },
  });
  onCleanup(() => refresher.stop());
  await refresher.start();
  await until(() => refresher.current?.catalog.snapshots.length === 2);
  const { current } = refresher;
  const before = built.length;
  expect(await refresher.preview()).toMatchObject({ outcome: 'unchanged' });
  // Nothing differs, so nothing needs to be built.
  expect(built).toHaveLength(before);

  kb.setTools([tool('unbuildable', 'v1')], { notify: false });
  web.setTools([tool('open', 'v1'), tool('close', 'v1')], { notify: false });
  const preview = await refresher.preview();
  expect(preview).toMatchObject({
    outcome: 'would-reject',
    toolsets: [
      { name: 'kb', outcome: 'would-reject', error: { code: 'BUILD_FAILED', message: expect.stringContaining('no agent with this tool') } },
      { name: 'web', outcome: 'would-swap', error: null },
    ],
    changes: { added: ['close'], removed: [], changed: [] },
  });
  expect(refresher.current).toBe(current);
  // The round that follows does what the dry run said.
  expect(await refresher.refresh()).toMatchObject({ outcome: 'swapped', changes: preview.changes });
});
