import { gate } from '../support/gate.js';
import * as answers from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { type SdkEra, startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';
import { codeOf, watchedSession } from './session-fixture.js';

const URI = 'ui://kb/app';
const TOOLS = [{ name: 'a', inputSchema: { type: 'object' } }];
const PAGE = { uri: URI, text: '<p>Grüße</p>', mimeType: 'text/html;profile=mcp-app' };

const soon = (ms = 10_000) => AbortSignal.timeout(ms);

test.each<SdkEra>(['legacy', 'modern', 'stateless'])(
  'a view is read past every cache, as bytes, with what it declares (%s)',
  async (era) => {
    const declared = { ...PAGE, _meta: { ui: { csp: { connectDomains: ['https://a.example'] } } } };
    const toolset = await startSdkToolset({ era, tools: TOOLS, resources: [declared] });
    const session = watchedSession(toolset.url);
    const { html, csp } = await session.readView(URI, soon());
    expect(Buffer.from(html).toString()).toBe('<p>Grüße</p>');
    expect(csp).toEqual({ connectDomains: ['https://a.example'] });
    toolset.setResources([{ ...PAGE, text: 'new' }], { notify: false });
    expect(Buffer.from((await session.readView(URI, soon())).html).toString()).toBe('new');
    expect(toolset.counts()['resources/read']).toBe(2);
  },
);

describe.each(['legacy', 'modern'] as const)('a %s toolset', (era) => {
  const wrapped = (result: object) => answers.rpcResult(era === 'modern' ? { resultType: 'complete', ...result } : result);
  const open = async () => {
    const toolset = await startRawToolset({ era, tools: TOOLS, resources: [PAGE] });
    const session = watchedSession(toolset.url);
    await session.start();
    return { toolset, session };
  };

  test.each([
    ['nothing', []],
    ['another media type', [{ uri: URI, mimeType: 'application/json', text: '{}' }]],
    [
      'two pages with other URIs',
      [
        { ...PAGE, uri: 'ui://x' },
        { ...PAGE, uri: 'ui://y' },
      ],
    ],
  ])('that answers %s gives no page', async (_what, contents) => {
    const { toolset, session } = await open();
    toolset.once('resources/read', wrapped({ contents }));
    expect(await codeOf(session.readView(URI, soon()))).toBe('VIEW_UNREADABLE');
    expect((await session.readView(URI, soon())).html.byteLength).toBeGreaterThan(0);
  });

  test.each([
    ['base64', [{ uri: URI, mimeType: 'text/html', blob: Buffer.from('<p>Grüße</p>').toString('base64') }]],
    ['no media type', [{ uri: URI, text: PAGE.text }]],
    ['another spelling of the URI', [{ ...PAGE, uri: 'ui://KB/app' }]],
    ['an image beside it', [{ uri: 'ui://kb/icon', mimeType: 'image/png', blob: 'AAAA' }, PAGE]],
  ])('may answer with %s', async (_what, contents) => {
    const { toolset, session } = await open();
    toolset.once('resources/read', wrapped({ contents }));
    expect(Buffer.from((await session.readView(URI, soon())).html).toString()).toBe(PAGE.text);
  });

  test('that does not answer is given up in time, and its socket is freed', async () => {
    const { toolset, session } = await open();
    const barrier = gate();
    toolset.once('resources/read', answers.held(barrier));
    expect(await codeOf(session.readView(URI, soon(300)))).toBe('VIEW_TIMEOUT');
    await until(() => toolset.openSockets() <= 2);
    expect((await session.readView(URI, soon())).html.byteLength).toBeGreaterThan(0);
  });

  test('that answers more than the bound is refused', async () => {
    const { toolset, session } = await open();
    toolset.once('resources/read', wrapped({ contents: [{ ...PAGE, text: 'x'.repeat(17 * 1024 * 1024) }] }));
    expect(await codeOf(session.readView(URI, soon()))).toBe('VIEW_UNREADABLE');
  });

  test('that declares no resources is not asked', async () => {
    const toolset = await startRawToolset({ era, tools: TOOLS, capabilities: { tools: { listChanged: true } } });
    const session = watchedSession(toolset.url);
    expect(await codeOf(session.readView(URI, soon()))).toBe('VIEW_UNREADABLE');
    expect(toolset.counts()['resources/read']).toBe(0);
  });

  test('with a resource list of several pages has the declarations of all; one that runs in a circle ends', async () => {
    const { toolset, session } = await open();
    const entry = (uri: string) => ({ uri, name: uri, _meta: { ui: { csp: { connectDomains: [uri] } } } });
    toolset.once(
      'resources/list',
      wrapped({ resources: [entry('ui://a'), null, { uri: 5 }], nextCursor: 'n' }),
      wrapped({ resources: [entry('ui://b')] }),
    );
    expect([...(await session.viewPolicies(soon())).keys()]).toEqual(['ui://a', 'ui://b']);
    let page = 0;
    toolset.on('resources/list', (exchange) => wrapped({ resources: [], nextCursor: `n${page++ % 2}` })(exchange));
    expect(await codeOf(session.viewPolicies(soon()))).toBe('VIEW_UNREADABLE');
    expect(page).toBeLessThanOrEqual(200);
  });
});

test('a session that is lost is made anew for a view, once, and the lists are told', async () => {
  const toolset = await startRawToolset({ tools: TOOLS, resources: [PAGE] });
  const session = watchedSession(toolset.url);
  await session.start();
  toolset.forgetSessions();
  const signals = session.signals.length;
  const reads = await Promise.all([session.readView(URI, soon()), session.readView(URI, soon())]);
  expect(reads).toHaveLength(2);
  expect(toolset.counts().initialize).toBe(2);
  expect(session.signals.slice(signals)).toContain('reconnect');
});

test('a stream for views that ends is opened again by the next read, and leaves no socket behind', async () => {
  const capabilities = { tools: { listChanged: true }, resources: { listChanged: true, subscribe: true } };
  const toolset = await startRawToolset({ era: 'modern', tools: TOOLS, resources: [PAGE], capabilities, honour: (wanted) => wanted });
  const session = watchedSession(toolset.url);
  await session.start();
  for (let round = 0; round < 10; round += 1) {
    // The client may not have noticed yet that the stream is gone; a later read opens it then.
    await until(async () => {
      await session.readView(URI, soon());
      return toolset.streams.size === 2;
    });
    const [, views] = [...toolset.streams];
    views?.cut('fin');
    await until(() => toolset.streams.size === 1);
  }
  expect(toolset.openSockets()).toBeLessThanOrEqual(4);
  await session.close();
  await until(() => toolset.openSockets() === 0);
});
