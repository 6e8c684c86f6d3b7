import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config.js';
import { demoBanner } from '../../src/demo/banner.js';
import { demoEnvironment } from '../../src/demo/demo.js';
import { DemoModel } from '../../src/demo/model.js';
import { startDemoToolsets } from '../../src/demo/toolsets/demo-toolsets.js';
import { closeServer, listen } from '../../src/http/application.js';
import { createLogger } from '../../src/logging.js';
import { createApp } from '../../src/service.js';
import { onCleanup } from '../support/cleanup.js';
import { copyShippedDefinitions } from '../support/shipped-demo.js';
import { until } from '../support/until.js';

const logger = createLogger({ level: 'error', format: 'pretty' });

/** The service on the demo's toolsets, with definitions that the test may edit. */
async function startStory() {
  const definitionsDir = mkdtempSync(join(tmpdir(), 'demo-test-'));
  onCleanup(() => rmSync(definitionsDir, { recursive: true }));
  copyShippedDefinitions(definitionsDir);
  const toolsets = await startDemoToolsets({ definitionsDir, dataDir: 'demo/data', logger });
  onCleanup(() => toolsets.close());
  const config = readConfig(demoEnvironment({}, toolsets.indexUrl));
  const app = await createApp(config, { model: new DemoModel(), env: {}, logger });
  onCleanup(() => app.stop());
  const server = await listen(app.application, { host: '127.0.0.1', port: 0 });
  onCleanup(() => closeServer(server, 0));
  await app.start();
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { app, baseUrl, files: toolsets.files, banner: demoBanner({ baseUrl, files: toolsets.files, urls: toolsets.urls }) };
}

/** Sends what a `curl` line of the banner sends, and returns the whole stream. */
async function send(curlLine: string): Promise<string> {
  const [, url = '', header = '', body = ''] = /curl -sN (\S+) -H '([^']+)' -d '([^']+)'/.exec(curlLine) ?? [];
  const [name = '', value = ''] = header.split(': ');
  const answer = await fetch(url, { method: 'POST', headers: { [name]: value }, body });
  expect(answer.status).toBe(200);
  return answer.text();
}

test('what the banner says works: a description that gains the announcements makes the second question answerable', async () => {
  const { app, files, banner } = await startStory();
  const [manual = '', announcements = ''] = banner.split('\n').filter((line) => line.includes('curl -sN'));

  expect(await send(manual)).toContain('Refreshing (from the manual)');
  const before = await send(announcements);
  expect(before).toContain('RUN_FINISHED');
  expect(before).not.toContain('TOOL_CALL_START');

  const [, from = '', to = ''] = /perl -pi -e 's\/([^/]+)\/([^/]+)\/'/.exec(banner) ?? [];
  const definition = readFileSync(files['knowledge-base'], 'utf8');
  expect(definition).toContain(from);
  writeFileSync(files['knowledge-base'], definition.replace(from, to));
  await until(() => app.refresher.current?.number === 2, { what: 'generation 2' });

  const after = await send(announcements);
  expect(after).toContain('"toolCallName":"search_knowledge"');
  expect(after).toContain('Descriptions count as changes (from the announcements)');
  expect(after).toContain('RUN_FINISHED');
});

test('the other toolset is watched and swapped in the same way', async () => {
  const { app, baseUrl, files, banner } = await startStory();
  const ask = (question: string) =>
    send((banner.split('\n').find((line) => line.includes('curl -sN')) ?? '').replace(/"content":"[^"]*"/, `"content":"${question}"`));
  expect(await ask('Which places are near Vienna?')).toContain('Prague, Czechia');
  const status = await (await fetch(`${baseUrl}/refresh`)).json();
  expect(status).toMatchObject({
    toolsets: [
      { name: 'knowledge-base', state: 'watching', protocol: expect.stringMatching(/^2025-/) },
      { name: 'places', state: 'watching', protocol: '2026-07-28' },
    ],
  });
  writeFileSync(files.places, readFileSync(files.places, 'utf8').replace('"places_nearby"', '"nearby_places"'));
  await until(() => app.refresher.current?.number === 2, { what: 'generation 2' });
  expect(await ask('Which places are near Vienna?')).toContain('"toolCallName":"nearby_places"');
});
