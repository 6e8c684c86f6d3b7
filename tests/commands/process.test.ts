import { spawn } from 'node:child_process';
import { buildCommand } from '../flows/build.js';
import { startFleet, tool } from '../flows/fleet.js';
import { startIndex } from '../support/index-server.js';
import { type ServiceProcess, startService } from '../support/process.js';
import { startSdkToolset } from '../support/sdk-toolset.js';

let folder: string;
let script: string;

beforeAll(async () => {
  ({ folder, script } = await buildCommand());
}, 120_000);

function start(...args: readonly string[]): ServiceProcess {
  return startService(args, { MCP_AGENT_API_ADMIN_TOKEN: 'admin-token' }, { script, cwd: folder });
}

test.each(['SIGINT', 'SIGTERM'] as const)('watch ends in order, with 0, at %s', async (signal) => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'Old.')] });
  const fleet = await startFleet({ kb: kb.url });
  const command = start('watch', fleet.baseUrl);
  await command.line('kb  watching');
  expect(await command.stop(signal)).toBe(0);
  expect(command.stderr).toEqual([]);
});

test('watch ends when nobody reads its output any more', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'Old.')] });
  const fleet = await startFleet({ kb: kb.url });
  const env = { PATH: process.env.PATH, MCP_AGENT_API_ADMIN_TOKEN: 'admin-token' };
  const child = spawn(process.execPath, [script, 'watch', fleet.baseUrl], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (text) => {
    errors += String(text);
  });
  const closed = new Promise((resolve) => child.once('close', resolve));
  await new Promise((resolve) => child.stdout.once('data', resolve));
  child.stdout.destroy();
  kb.setTools([tool('search', 'New.')]);
  expect([await closed, errors]).toEqual([0, '']);
});

test('the exit code is that of the outcome, and 2 for a mistyped command', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'Old.')] });
  const fleet = await startFleet({ kb: kb.url });
  const good = start('refresh', fleet.baseUrl);
  const unknown = start('refresh', fleet.baseUrl, '--toolset', 'nope');
  const mistyped = start('refresh', fleet.baseUrl, '--tooolset', 'kb');
  const fingerprint = start('fingerprint', kb.url);
  const all = [good, unknown, mistyped, fingerprint];
  expect(await Promise.all(all.map(({ exited }) => exited))).toEqual([0, 1, 2, 0]);
  expect(fingerprint.stdout).toEqual([(await fleet.toolset('kb')).fingerprint]);
  expect(mistyped.lines).toEqual([expect.stringContaining('--tooolset')]);
});

test('a port that is taken ends the start with 1 and with what to set', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'Old.')] });
  const PORT = new URL((await startFleet({ kb: kb.url })).baseUrl).port;
  const env = { MCP_URL: kb.url, PROVIDER_MODEL: 'openai:test-model', PROVIDER_API_KEY: 'test-key', PORT };
  const service = startService([], env, { script, cwd: folder });
  expect(await service.exited).toBe(1);
  expect(service.stderr).toEqual([expect.stringMatching(/^mcp-agent-api cannot start: .*EADDRINUSE.*; set PORT to another one$/)]);
});

test('warns at start of toolsets that only the settings name', async () => {
  const index = await startIndex({ kb: (await startSdkToolset({ era: 'legacy', tools: [tool('search', 'Old.')] })).url });
  const store = { MCP_AGENT_CHECKPOINT: 'sqlite:threads', MCP_AGENT_API_REVIEW: 'kbb', MCP_AGENT_API_REVIEW_FIRST: 'trust' };
  const provider = { PROVIDER_MODEL: 'openai:test-model', PROVIDER_API_KEY: 'test-key' };
  const env = { ...store, ...provider, MCP_URL: index.url, MCP_AGENT_API_REFRESH_TOKENS: 'kb=a,web=b', PORT: '0' };
  const service = startService([], env, { script, cwd: folder });
  await service.line('"ready for runs"');
  const warned = service.lines.filter((line) => line.includes('setting names toolsets')).map((line) => JSON.parse(line));
  expect(warned).toMatchObject([
    { level: 'warn', variable: 'MCP_AGENT_API_REVIEW', toolsets: ['kbb'] },
    { level: 'warn', variable: 'MCP_AGENT_API_REFRESH_TOKENS', toolsets: ['web'] },
  ]);
  expect(await service.stop('SIGTERM')).toBe(0);
});
