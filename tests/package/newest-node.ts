import { runTurn } from '../support/run-client.js';
import { askDemo, askHostApp, compileReadmeExample, startOnModelServer } from './as-a-user.js';
import { type InstalledPackage, installNode, installPackage } from './installed-package.js';
import { packPackage } from './packed-package.js';

/** The newest that the registry had when this was written; `npm view node version` says which one it has now. */
const NEWEST = '26.10.0';

let installed: InstalledPackage;
let warnings: readonly string[];

// The driver of SQLite is compiled where no prebuilt binary can be had, which takes minutes: this file is no part of `npm test`.
beforeAll(async () => {
  const [{ tarball }, { node, headers }] = await Promise.all([packPackage(), installNode(NEWEST)]);
  installed = await installPackage({ tarball, optional: 'with', node, env: { npm_config_nodedir: headers } });
  warnings = installed.output.split('\n').filter((line) => /warn|deprecated/i.test(line));
}, 900_000);

test('npm installs everything, and warns of no more than the script that compiles the driver', () => {
  expect(warnings.filter((line) => !line.startsWith('npm warn install-scripts'))).toEqual([]);
  expect(warnings.filter((line) => line.includes('@')).every((line) => line.includes('better-sqlite3@'))).toBe(true);
});

test('the demo answers a question on the newest Node.js, and says nothing on standard error', async () => {
  const { demo, url, turn } = await askDemo(installed);
  expect(await (await fetch(`${url}/metrics`)).text()).toContain(`nodejs_version_info{version="v${NEWEST}"`);
  expect(turn.text).toContain('from the manual');
  expect(await demo.stop()).toBe(0);
  expect(demo.stderr).toEqual([]);
});

test('the example application lets the model call a tool', async () => {
  const { host, turn } = await askHostApp(installed);
  expect(turn.events.find(({ type }) => type === 'TOOL_CALL_RESULT')?.content).toBe('found blue');
  expect(await host.stop()).toBe(0);
});

test('a thread in SQLite is there after a restart', async () => {
  const settings = { MCP_AGENT_CHECKPOINT: 'sqlite:threads.db' };
  const first = await startOnModelServer(installed, settings);
  const { threadId } = await runTurn(first.url, { text: 'Remember the number seven.' });
  expect(await first.service.stop()).toBe(0);
  const second = await startOnModelServer(installed, settings);
  expect(await (await fetch(`${second.url}/threads/${threadId}`)).text()).toContain('Remember the number seven.');
});

test("README's example compiles with the optional packages too", async () => {
  expect(await compileReadmeExample(installed)).toBe('');
});
