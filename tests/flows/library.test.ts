import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runTurn } from '../support/run-client.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { startFleet, tool } from './fleet.js';

/** How many listeners the process has for each of its events. */
const listeners = () => Object.fromEntries(process.eventNames().map((name) => [String(name), process.listenerCount(name)]));

test('a service that runs inside another process installs no listener there, neither for signals nor for errors (12.3)', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: [tool('search', 'one')] });
  const before = listeners();
  const fleet = await startFleet({ kb: kb.url });
  expect((await runTurn(fleet.baseUrl, { text: 'hi' })).status).toBe(200);
  expect(listeners()).toEqual(before);
  await fleet.app.stop();
  expect(listeners()).toEqual(before);
});

test('only the command ends the process, sets its exit code, listens to it or writes to its output (12.3)', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const touching = files.filter((file) =>
    /\bprocess\.(on|once|exit|exitCode|abort|kill|stdout|stderr)\b/.test(readFileSync(join('src', file), 'utf8')),
  );
  expect(touching).toContain('main.ts');
  // logging.ts makes the logger that the command hands in; a host hands in its own.
  expect(touching.filter((file) => !['main.ts', 'logging.ts'].includes(file))).toEqual([]);
});
