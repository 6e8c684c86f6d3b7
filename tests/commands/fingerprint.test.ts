import { startFleet, tool } from '../flows/fleet.js';
import { startIndex } from '../support/index-server.js';
import { hang, rpcResult } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { type SdkEra, startSdkToolset } from '../support/sdk-toolset.js';
import { run } from './run.js';

const TOOLS = [tool('search', 'Searches.'), tool('read', 'Reads.')];

test.each<SdkEra>(['legacy', 'stateless', 'modern', 'both'])(
  'prints the fingerprint that GET /refresh shows, and nothing else (%s)',
  async (era) => {
    const toolset = await startSdkToolset({ era, tools: TOOLS, instructions: 'Search before you read.' });
    const fleet = await startFleet({ kb: toolset.url });
    const command = run(['fingerprint', toolset.url]);
    expect(await command.ended).toBe(0);
    expect(command.out).toEqual([(await fleet.toolset('kb')).fingerprint]);
    expect(command.notes.join('\n')).toContain('2 tools');
    expect(command.notes.join('\n')).toContain(era === 'stateless' ? 'cannot announce' : 'can announce');
  },
);

test('leaves no session behind at the server', async () => {
  const toolset = await startSdkToolset({ era: 'legacy', tools: TOOLS });
  expect(await run(['fingerprint', toolset.url]).ended).toBe(0);
  expect([toolset.sessions(), toolset.streams(), toolset.counts().DELETE]).toEqual([0, 0, 1]);
});

test('credential headers are part of it: as the index declares them, or as they are given', async () => {
  const toolset = await startSdkToolset({ era: 'modern', tools: TOOLS });
  const fleet = await startFleet({ kb: toolset.url }, { wait: false });
  fleet.index.set({ kb: toolset.url }, { toolsets: [{ name: 'kb', credential_headers: ['X-User-Token'] }] });
  await fleet.refresh();
  const { fingerprint } = await fleet.toolset('kb');
  const given = run(['fingerprint', toolset.url, '--credential-headers', ' x-user-token ,X-User-Token']);
  const declared = run(['fingerprint', fleet.index.url]);
  const none = run(['fingerprint', toolset.url]);
  expect(await Promise.all([given.ended, declared.ended, none.ended])).toEqual([0, 0, 0]);
  expect([given.out, declared.out]).toEqual([[fingerprint], [fingerprint]]);
  expect(none.out).not.toEqual([fingerprint]);
});

test('takes one toolset of an index by its name, with the headers of its entry', async () => {
  const one = await startSdkToolset({ era: 'modern', tools: TOOLS });
  const two = await startSdkToolset({ era: 'legacy', tools: [tool('write', 'Writes.')] });
  const index = await startIndex({ one: one.url, two: { transport: 'http', url: two.url, headers: { 'x-key': `\${MCP_HEADER_KEY}` } } });
  const unnamed = run(['fingerprint', index.url]);
  expect(await unnamed.ended).toBe(1);
  expect(unnamed.notes).toEqual([expect.stringContaining('one, two')]);
  const named = run(['fingerprint', index.url, '--name', 'two', '--json'], { env: { MCP_HEADER_KEY: 'service-key' } });
  expect(await named.ended).toBe(0);
  expect(JSON.parse(named.out.join('\n'))).toEqual({
    ...{ fingerprint: expect.stringMatching(/^sha256-[0-9a-f]{64}$/), name: 'two', url: two.url, tools: ['write'], withheld: [] },
    ...{ credentialHeaders: [], protocol: '2025-11-25', state: 'watching' },
  });
  expect(two.requests.every(({ headers }) => headers['x-key'] === 'service-key')).toBe(true);
});

test('says why there is none: nobody there, an incomplete list, no answer in time', async () => {
  const gone = await startSdkToolset({ era: 'legacy' });
  await gone.kill();
  const refused = run(['fingerprint', gone.url]);
  expect(await refused.ended).toBe(1);
  expect([refused.out, refused.notes]).toEqual([[], [expect.stringContaining('TOOLSET_UNREACHABLE')]]);

  const broken = await startRawToolset({ tools: TOOLS });
  broken.on('tools/list', rpcResult({ tools: null }));
  const malformed = run(['fingerprint', broken.url]);
  expect(await malformed.ended).toBe(1);
  expect([malformed.out, malformed.notes]).toEqual([[], [expect.stringContaining('LIST_MALFORMED')]]);

  const silent = await startRawToolset({ tools: TOOLS });
  silent.on('tools/list', hang);
  const late = run(['fingerprint', silent.url, '--timeout', '0.3']);
  expect(await late.ended).toBe(1);
  expect([late.out, late.notes]).toEqual([[], [expect.stringContaining('within 0.3 s')]]);
});
