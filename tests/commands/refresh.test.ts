import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startFleet, tool } from '../flows/fleet.js';
import { onCleanup } from '../support/cleanup.js';
import { hang, respond, rpcResult } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';
import { run } from './run.js';

const TOKENS = 'kb=kb-token,web=web-token';
/** No poll, so that only the command can have found a change. */
const QUIET = { MCP_AGENT_API_REFRESH_SECONDS: '0', MCP_AGENT_API_REFRESH_TOKENS: TOKENS };
const asKb = { env: { MCP_AGENT_API_REFRESH_TOKEN: 'kb-token' } };
const asAdmin = { env: { MCP_AGENT_API_ADMIN_TOKEN: 'admin-token' } };

/** A toolset that cannot push, and a service on it that does not poll. */
async function startQuiet() {
  const kb = await startSdkToolset({ era: 'stateless', name: 'kb', tools: [tool('search', 'Old.')] });
  const web = await startSdkToolset({ era: 'stateless', name: 'web', tools: [tool('open', 'Opens.')] });
  return { kb, web, fleet: await startFleet({ kb: kb.url, web: web.url }, { env: QUIET }) };
}

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-agent-api-command-'));
  onCleanup(() => rm(folder, { recursive: true }));
  return folder;
}

test('a change is live when the command ends with 0, and it says what changed', async () => {
  const { kb, fleet } = await startQuiet();
  kb.setTools([tool('search', 'New.'), tool('read', 'Reads.')], { notify: false });
  const command = run(['refresh', fleet.baseUrl, '--toolset', 'kb'], asKb);
  expect(await command.ended).toBe(0);
  expect(await fleet.shown()).toEqual({ search: 'New.', read: 'Reads.', open: 'Opens.' });
  expect(command.out[0]).toMatch(/^swapped: the new tools are live; round \d+ \(manual, \d+ ms\), generation 2$/);
  expect(command.out).toEqual(expect.arrayContaining(['  listed: kb', '  + read', '  ~ search']));

  const again = run(['refresh', `${fleet.baseUrl}/`], asAdmin);
  expect(await again.ended).toBe(0);
  expect(again.out[0]).toMatch(/^unchanged: /);
  expect(again.out).toContain('  listed: kb, web');
});

test('--json prints the record as the service answers it, in one line', async () => {
  const { kb, fleet } = await startQuiet();
  kb.setTools([tool('search', 'New.')], { notify: false });
  const command = run(['refresh', fleet.baseUrl, '--toolset', 'kb', '--json'], asKb);
  expect(await command.ended).toBe(0);
  expect(command.out).toHaveLength(1);
  expect(JSON.parse(command.out[0] ?? '')).toEqual((await fleet.status()).last);
});

test('colours the outcome where the terminal shows colours', async () => {
  const { fleet } = await startQuiet();
  const command = run(['refresh', fleet.baseUrl], { ...asAdmin, colours: true });
  expect(await command.ended).toBe(0);
  expect(command.out[0]?.startsWith('\u001B[2munchanged\u001B[0m: ')).toBe(true);
});

test('a toolset that fails ends the command with 1 and with the reason, and its tools stay', async () => {
  const kb = await startRawToolset({ tools: [tool('search', 'Old.')] });
  const fleet = await startFleet({ kb: kb.url }, { env: QUIET });
  kb.on('tools/list', rpcResult({ tools: null }));
  const command = run(['refresh', fleet.baseUrl, '--toolset', 'kb'], asKb);
  expect(await command.ended).toBe(1);
  expect(command.out[0]).toMatch(/^aborted: /);
  expect(command.out.join('\n')).toContain('LIST_MALFORMED at kb: ');
  expect(await fleet.shown()).toEqual({ search: 'Old.' });
});

test('without --toolset every toolset counts: those that fail still are named with their reasons, and the code is 1', async () => {
  const kb = await startRawToolset({ tools: [tool('search', 'Old.')] });
  const web = await startRawToolset({ tools: [tool('open', 'Opens.')] });
  const third = await startSdkToolset({ era: 'stateless', name: 'third', tools: [tool('count', 'Old.')] });
  const fleet = await startFleet({ kb: kb.url, web: web.url, third: third.url }, { env: QUIET });
  for (const toolset of [kb, web]) toolset.on('tools/list', rpcResult({ tools: null }));
  expect(await run(['refresh', fleet.baseUrl], asAdmin).ended).toBe(1);
  // They were failing before this one, which therefore is no longer aborted by them.
  const command = run(['refresh', fleet.baseUrl], asAdmin);
  expect(await command.ended).toBe(1);
  expect(command.out[0]).toMatch(/^unchanged: nothing differs from what is live, as far as the toolsets answered; /);
  expect(command.out).toContain('  failing, last tools in use: kb, web');
  expect(command.out.at(-1)).toMatch(/LIST_MALFORMED at kb: /);
  expect(command.notes).toEqual([expect.stringMatching(/^web fails: LIST_MALFORMED: /)]);
  third.setTools([tool('count', 'New.')], { notify: false });
  expect(await run(['refresh', fleet.baseUrl, '--toolset', 'third'], asAdmin).ended).toBe(0);
});

test('with --expect a toolset may fail for a while, as it does while it is deployed', async () => {
  const kb = await startRawToolset({ tools: [tool('search', 'Old.')] });
  const fleet = await startFleet({ kb: kb.url }, { env: QUIET });
  const { fingerprint } = await fleet.toolset('kb');
  const answerAgain = kb.on('tools/list', respond({ status: 503 }));
  const command = run(['refresh', fleet.baseUrl, '--toolset', 'kb', '--expect', fingerprint ?? ''], asKb);
  await until(() => command.notes.some((note) => note.startsWith('Waiting: TOOLSET_SERVER_ERROR at kb')));
  answerAgain();
  expect(await command.ended).toBe(0);
});

test('a list that is late ends the command with 1', async () => {
  const kb = await startRawToolset({ tools: [tool('search', 'Old.')] });
  const fleet = await startFleet({ kb: kb.url }, { env: QUIET });
  kb.on('tools/list', hang);
  const command = run(['refresh', fleet.baseUrl, '--toolset', 'kb'], asKb);
  expect(await command.ended).toBe(1);
  expect(command.out[0]).toMatch(/^unchanged: nothing differs from what is live, as far as the toolsets answered; /);
  expect(command.out).toContain('  late, still being listed: kb');
});

test('with --expect it goes on until the toolset serves that fingerprint', async () => {
  const { kb, fleet } = await startQuiet();
  const next = await startSdkToolset({ era: 'modern', tools: [tool('search', 'New.')] });
  const fingerprint = run(['fingerprint', next.url]);
  await fingerprint.ended;
  const [expected = ''] = fingerprint.out;
  const command = run(['refresh', fleet.baseUrl, '--toolset', 'kb', '--expect', expected], asKb);
  // The deploy is not through yet: what answers is the old process.
  await until(() => command.notes.some((note) => note.startsWith('Waiting: ') && note.includes(expected)));
  expect(await fleet.shown()).toMatchObject({ search: 'Old.' });
  kb.setTools([tool('search', 'New.')], { notify: false });
  expect(await command.ended).toBe(0);
  expect((await fleet.toolset('kb')).fingerprint).toBe(expected);
  expect(command.notes.at(-1)).toMatch(/^Served by /);
});

test('with --expect a fingerprint that never comes ends with 1 when the time is over, and says what was seen', async () => {
  const { fleet } = await startQuiet();
  const never = `sha256-${'0'.repeat(64)}`;
  const command = run(['refresh', fleet.baseUrl, '--toolset', 'kb', '--expect', never, '--timeout', '0.7'], asKb);
  expect(await command.ended).toBe(1);
  expect(command.notes.at(-1)).toMatch(/^Not done after 0\.7 s\. Last seen: .+, not sha256-0+\.$/);
});

test('--dry says what would change and changes nothing; --expect compares with what the service sees', async () => {
  const { kb, fleet } = await startQuiet();
  kb.setTools([tool('search', 'New.'), tool('read', 'Reads.')], { notify: false });
  const dry = run(['refresh', fleet.baseUrl, '--toolset', 'kb', '--dry'], asKb);
  expect(await dry.ended).toBe(0);
  expect(dry.out).toEqual([
    'would-swap: a refresh would make the new tools live (dry run: nothing was changed)',
    '  kb: would-swap (added, text)',
    '  + read',
    '  ~ search',
  ]);
  expect(await fleet.shown()).toEqual({ search: 'Old.', open: 'Opens.' });

  const fingerprint = run(['fingerprint', kb.url]);
  await fingerprint.ended;
  const argv = ['refresh', fleet.baseUrl, '--toolset', 'kb', '--dry', '--expect'];
  expect(await run([...argv, fingerprint.out[0] ?? ''], asKb).ended).toBe(0);
  const other = run([...argv, `sha256-${'0'.repeat(64)}`], asKb);
  expect(await other.ended).toBe(1);
  expect(other.notes).toEqual([expect.stringContaining('another fingerprint')]);
  await kb.kill();
  const failed = run(['refresh', fleet.baseUrl, '--toolset', 'kb', '--dry'], asKb);
  expect(await failed.ended).toBe(1);
  expect(failed.out[0]).toMatch(/^failed: /);
});

test('a change that waits for a review ends the command with 1', async () => {
  const kb = await startSdkToolset({ era: 'stateless', tools: [tool('search', 'Old.')] });
  const folder = await temporaryFolder();
  const review = {
    MCP_AGENT_API_REVIEW: 'kb',
    MCP_AGENT_API_REVIEW_FIRST: 'trust',
    MCP_AGENT_CHECKPOINT: `sqlite:${join(folder, 'store')}`,
  };
  const fleet = await startFleet({ kb: kb.url }, { env: { ...QUIET, ...review } });
  kb.setTools([tool('search', 'New.')], { notify: false });
  const dry = run(['refresh', fleet.baseUrl, '--toolset', 'kb', '--dry'], asKb);
  expect([await dry.ended, dry.out[0]?.split(':')[0]]).toEqual([1, 'would-hold']);
  const command = run(['refresh', fleet.baseUrl, '--toolset', 'kb'], asKb);
  expect(await command.ended).toBe(1);
  expect(command.out[0]).toMatch(/^held: /);
  expect(command.out).toContain('  waiting, not live yet: kb');
  expect(command.notes).toEqual([expect.stringMatching(/^kb waits: its changes wait for a decision .* The list that waits is sha256-/)]);
  expect(await fleet.shown()).toEqual({ search: 'Old.' });
});

test('a service that does not answer in time ends the command with 1', async () => {
  const kb = await startRawToolset({ tools: [tool('search', 'Old.')] });
  const fleet = await startFleet({ kb: kb.url }, { env: QUIET });
  kb.on('tools/list', hang);
  const command = run(['refresh', fleet.baseUrl, '--toolset', 'kb', '--timeout', '0.3'], asKb);
  expect(await command.ended).toBe(1);
  expect(command.notes).toEqual(['Not done after 0.3 s.']);
});

test('says which service cannot be reached, which token is missing, and which toolset does not exist', async () => {
  const { fleet } = await startQuiet();
  const nobody = run(['refresh', 'http://127.0.0.1:9']);
  expect(await nobody.ended).toBe(1);
  expect(nobody.notes).toEqual([expect.stringContaining('http://127.0.0.1:9/')]);
  const stranger = run(['refresh', fleet.baseUrl]);
  expect(await stranger.ended).toBe(1);
  expect(stranger.notes).toEqual([expect.stringMatching(/answered 401: A token is needed: .*MCP_AGENT_API_REFRESH_TOKEN, .*--token-file/)]);
  const other = run(['refresh', fleet.baseUrl, '--toolset', 'web'], asKb);
  expect(await other.ended).toBe(1);
  expect(other.notes).toEqual([
    expect.stringMatching(/answered 403: .*"kb" only, not for "web"\. .*the variable MCP_AGENT_API_REFRESH_TOKEN/),
  ]);
  const unnamed = run(['refresh', fleet.baseUrl], asKb);
  expect(await unnamed.ended).toBe(1);
  expect(unnamed.notes).toEqual([expect.stringMatching(/answered 403: .*"kb" only.* needs --toolset NAME\.$/)]);
  const wrong = run(['refresh', fleet.baseUrl, '--toolset', 'kb'], { env: { MCP_AGENT_API_ADMIN_TOKEN: 'mistyped' } });
  expect(await wrong.ended).toBe(1);
  expect(wrong.notes).toEqual([
    expect.stringMatching(/answered 401: A token was sent, but .*read from the variable MCP_AGENT_API_ADMIN_TOKEN\.$/),
  ]);
  expect(wrong.notes.join()).not.toContain('mistyped');
  const unknown = run(['refresh', fleet.baseUrl, '--toolset', 'nope'], asAdmin);
  expect(await unknown.ended).toBe(1);
  expect(unknown.notes).toEqual([expect.stringMatching(/answered 404: .*nope.* It names: kb, web\.$/)]);
  const page = run(['refresh', `${fleet.index.url}/..`], asAdmin);
  expect(await page.ended).toBe(1);
});

test('the token is read from a file, or from the first variable that is set', async () => {
  const { fleet } = await startQuiet();
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'token'), 'kb-token\n');
  const argv = ['refresh', fleet.baseUrl, '--toolset', 'kb'];
  const wrong = { MCP_AGENT_API_REFRESH_TOKEN: 'wrong', MCP_AGENT_API_ADMIN_TOKEN: 'admin-token' };
  expect(await run([...argv, '--token-file', join(folder, 'token')], { env: wrong }).ended).toBe(0);
  expect(await run(argv, { env: wrong }).ended).toBe(1);
  expect(await run(argv, { env: { ...wrong, MCP_AGENT_API_REFRESH_TOKEN: '' } }).ended).toBe(0);
  expect(await run(argv, { env: { MCP_AGENT_API_TOKEN: 'admin-token' } }).ended).toBe(0);
  const missing = run([...argv, '--token-file', join(folder, 'nope')], asKb);
  expect(await missing.ended).toBe(1);
  expect(missing.notes).toEqual([expect.stringContaining('ENOENT')]);
});
