import { copyFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { startDemoToolsets } from '../../src/demo/toolsets/demo-toolsets.js';
import { createLogger } from '../../src/logging.js';
import { getView } from '../field/view-kit.js';
import { startFleet } from '../flows/fleet.js';
import { onCleanup } from '../support/cleanup.js';
import { runVerifiedTurn } from '../support/run-client.js';
import { until } from '../support/until.js';

const logger = createLogger({ level: 'error', format: 'pretty' });

/** The demo's toolsets on files that the test may edit. */
async function startPlaces() {
  const folder = mkdtempSync(join(tmpdir(), 'demo-views-'));
  onCleanup(() => rmSync(folder, { recursive: true }));
  cpSync('demo', folder, { recursive: true });
  const dataDir = join(folder, 'data');
  const toolsets = await startDemoToolsets({ definitionsDir: join(folder, 'toolsets'), dataDir, logger });
  onCleanup(() => toolsets.close());
  const fleet = await startFleet({}, { mcpUrl: toolsets.indexUrl, strict: false });
  return { fleet, page: join(dataDir, 'places.html') };
}

/** Runs the page's script in a browser that has just enough of one, and returns what it sends to its host. */
function openPage(html: string) {
  const sent: Record<string, unknown>[] = [];
  const shown: string[] = [];
  const listeners: ((event: { source: unknown; data: unknown }) => void)[] = [];
  const element = () => ({
    setAttribute: () => undefined,
    append: (child: { textContent?: string }) => {
      if (child.textContent) shown.push(child.textContent);
    },
    replaceChildren: () => undefined,
    textContent: '',
  });
  const parent = { postMessage: (message: Record<string, unknown>) => void sent.push(message) };
  const document = {
    getElementById: element,
    createElement: element,
    createElementNS: element,
    documentElement: { scrollHeight: 300 },
  };
  const script = /<script>([\s\S]*)<\/script>/.exec(html)?.[1] ?? '';
  runInNewContext(script, { parent, document, addEventListener: (_: string, listener: never) => void listeners.push(listener) });
  const hear = (data: unknown) => {
    for (const listener of listeners) listener({ source: parent, data });
  };
  return { sent, shown, hear };
}

test('the places that a tool found are shown by the page that its run names', async () => {
  const { fleet } = await startPlaces();
  const name = JSON.parse(readFileSync('demo/data/places.json', 'utf8'))[0].name as string;
  fleet.model.reply(({ body }) =>
    body.messages.at(-1)?.role === 'tool'
      ? { text: 'There.' }
      : { toolCalls: [{ name: 'places_nearby', args: { name, kilometres: 20_000 } }] },
  );
  const { events } = await runVerifiedTurn(fleet.baseUrl, { text: 'Where?' });
  const activity = events.find(({ type }) => type === 'ACTIVITY_SNAPSHOT')?.content as { hash: string; structuredContent: object };
  const { text, hash } = await getView(fleet, 'places/places.html');
  expect(activity).toMatchObject({ toolset: 'places', tool: 'places_nearby', uri: 'ui://places/places.html', hash });

  const page = openPage(text);
  expect(page.sent).toMatchObject([{ id: 1, method: 'ui/initialize' }]);
  page.hear({ jsonrpc: '2.0', id: 1, result: {} });
  page.hear({ jsonrpc: '2.0', method: 'ui/notifications/tool-result', params: { structuredContent: activity.structuredContent } });
  expect(page.sent.map(({ method }) => method)).toEqual(['ui/initialize', 'ui/notifications/initialized', 'ui/notifications/size-changed']);
  expect(page.shown).toContain(name);
  expect(page.shown.some((shown) => /^\d+ km$/.test(shown))).toBe(true);
});

test('a page that is saved anew is served at once, and the agent stays the same', async () => {
  const { fleet, page } = await startPlaces();
  const before = await getView(fleet, 'places/places.html');
  writeFileSync(page, before.text.replace('#2a7de1', '#00aa55'));
  await until(async () => {
    expect((await getView(fleet, 'places/places.html')).text).toContain('#00aa55');
    return true;
  });
  expect((await fleet.status()).generation).toBe(1);
  copyFileSync('demo/data/places.html', page);
  await until(async () => {
    expect((await getView(fleet, 'places/places.html')).hash).toBe(before.hash);
    return true;
  });
});
