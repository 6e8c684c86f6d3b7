import { type Fleet, having, startFleet } from '../flows/fleet.js';
import { rpcError, rpcResult } from '../support/raw-answers.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { type SdkEra, startSdkToolset } from '../support/sdk-toolset.js';
import { stays, until } from '../support/until.js';
import { getView, page, untilView, viewTool } from './view-kit.js';

const URI = 'ui://shop/app.html';
const TOOLS = [viewTool('cart', { ui: { resourceUri: URI } })];
const V1 = [{ uri: URI, text: page('one') }];
const V2 = [{ uri: URI, text: page('two') }];
const PATH = 'shop/app.html';

const ERAS: readonly SdkEra[] = ['legacy', 'modern'];

async function shop(era: SdkEra, env: Record<string, string> = {}) {
  const toolset = await startSdkToolset({ era, tools: TOOLS, resources: V1 });
  const fleet = await startFleet({ shop: toolset.url }, { env });
  const before = await getView(fleet, PATH);
  expect(before).toMatchObject({ status: 200, text: page('one') });
  const changes: unknown[] = [];
  fleet.app.refresher.on('view', (change) => void changes.push(change));
  return { toolset, fleet, before, changes };
}

/** The new page is served under another hash, and no swap was needed for it. */
async function expectSecondPage(fleet: Fleet, before: { readonly hash: string | undefined }, changes: readonly unknown[]): Promise<void> {
  const after = await untilView(fleet, PATH, page('two'));
  expect(after.hash).not.toBe(before.hash);
  expect(changes).toEqual([{ toolset: 'shop', uri: URI, from: before.hash, to: after.hash }]);
  expect(fleet.log.filter(({ message }) => message === 'view changed')).toHaveLength(1);
  expect(having(fleet.rounds(), 'swapped').length).toBeLessThanOrEqual(1);
  expect((await fleet.status()).generation).toBe(1);
  // A client that shows a result from before still gets the page of that time.
  expect((await getView(fleet, `${PATH}?hash=${before.hash}`)).text).toBe(page('one'));
}

describe('B136: a view that changes under its URI while the tools stay', () => {
  test.each(ERAS)('is served anew after resources/list_changed, with one read (%s)', async (era) => {
    const { toolset, fleet, before, changes } = await shop(era);
    expect(toolset.counts()['resources/read']).toBe(1);
    toolset.setResources(V2);
    await expectSecondPage(fleet, before, changes);
    expect(toolset.counts()['resources/read']).toBe(2);
  });

  test.each(ERAS)('is served anew after a reconnect (%s)', async (era) => {
    const { toolset, fleet, before, changes } = await shop(era);
    toolset.setResources(V2, { notify: false });
    await toolset.restart();
    await expectSecondPage(fleet, before, changes);
  });

  test.each(ERAS)('is served anew after a poll (%s)', async (era) => {
    const { toolset, fleet, before, changes } = await shop(era, { MCP_AGENT_API_REFRESH_SECONDS: '0.5' });
    toolset.setResources(V2, { notify: false });
    await expectSecondPage(fleet, before, changes);
  });

  test.each(ERAS)('is served anew after the round that somebody asked for (%s)', async (era) => {
    const { toolset, fleet, before, changes } = await shop(era);
    toolset.setResources(V2, { notify: false });
    await fleet.refresh('shop');
    await expectSecondPage(fleet, before, changes);
  });
});

async function rawShop(era: 'legacy' | 'modern', subscribed = rpcResult({})) {
  const capabilities = { tools: { listChanged: true }, resources: { listChanged: true, subscribe: true } };
  const other = { uri: 'ui://shop/other.html', text: page('other') };
  const toolset = await startRawToolset({
    ...{ era, capabilities, resources: [...V1, other] },
    tools: [...TOOLS, viewTool('other', { ui: { resourceUri: other.uri } })],
    honour: (wanted) => wanted,
  });
  toolset.on('resources/subscribe', subscribed);
  const fleet = await startFleet({ shop: toolset.url });
  const before = await getView(fleet, PATH);
  await getView(fleet, 'shop/other.html');
  const changes: unknown[] = [];
  fleet.app.refresher.on('view', (change) => void changes.push(change));
  const change = (text: string) => {
    toolset.resources = [{ uri: URI, text }, other];
    toolset.push({ method: 'notifications/resources/updated', params: { uri: URI } });
  };
  return { toolset, fleet, before, changes, change };
}

/** The URIs that the server was asked to tell about, by its own record. */
function watchedUris(toolset: RawToolset, era: 'legacy' | 'modern'): unknown[] {
  const paramsOf = (rpc: string) => toolset.requests.filter((request) => request.rpc === rpc).map(({ body }) => (body as Body).params);
  if (era === 'legacy') return paramsOf('resources/subscribe').map(({ uri }) => uri);
  return paramsOf('subscriptions/listen').flatMap(({ notifications }) => notifications?.resourceSubscriptions ?? []);
}

interface Body {
  readonly params: { readonly uri?: string; readonly notifications?: { readonly resourceSubscriptions?: readonly string[] } };
}

describe('B136: resources/updated', () => {
  test.each(['legacy', 'modern'] as const)('is subscribed to for each view that was read, and reads that one only (%s)', async (era) => {
    const { toolset, fleet, before, changes, change } = await rawShop(era);
    await until(() => new Set(watchedUris(toolset, era)).size === 2, { what: 'both views to be watched' });
    if (era === 'modern') await until(() => toolset.streams.size === 2, { what: 'the stream for views' });
    const reads = toolset.counts()['resources/read'] ?? 0;
    const lists = toolset.counts()['tools/list'];
    change(page('two'));
    await expectSecondPage(fleet, before, changes);
    expect(toolset.counts()['resources/read']).toBe(reads + 1);
    expect(toolset.counts()['tools/list']).toBe(lists);
  });

  test('is subscribed to again on a new session', async () => {
    const { toolset, fleet, before, changes, change } = await rawShop('legacy');
    await until(() => watchedUris(toolset, 'legacy').length === 2);
    toolset.forgetSessions();
    toolset.cutStreams('rst');
    await until(() => watchedUris(toolset, 'legacy').length === 4, { what: 'the views to be watched again' });
    await fleet.untilState('shop', 'watching');
    change(page('two'));
    await expectSecondPage(fleet, before, changes);
  });

  test('does no harm where the server refuses the subscription', async () => {
    const { toolset, fleet } = await rawShop('legacy', rpcError(-32601, 'Method not found'));
    toolset.resources = V2;
    toolset.push({ method: 'notifications/resources/list_changed' });
    await untilView(fleet, PATH, page('two'));
  });
});

describe('a re-read that brings nothing', () => {
  test.each([
    ['a JSON-RPC error', rpcError(-32603, 'Out of order')],
    ['a missing view', rpcError(-32602, 'Unknown resource')],
    ['no contents', rpcResult({ contents: [] })],
    ['an image in place of the page', rpcResult({ contents: [{ uri: URI, mimeType: 'image/png', blob: 'AAAA' }] })],
    ['nonsense', rpcResult({ contents: null })],
  ])('keeps the page that was there: %s', async (_what, answer) => {
    const toolset = await startRawToolset({ tools: TOOLS, resources: V1 });
    const fleet = await startFleet({ shop: toolset.url });
    const before = await getView(fleet, PATH);
    const stop = toolset.on('resources/read', answer);
    toolset.resources = V2;
    toolset.push({ method: 'notifications/resources/list_changed' });
    await until(() => fleet.log.some(({ message }) => message === 'view not read'));
    expect(await getView(fleet, PATH)).toMatchObject({ status: 200, text: page('one'), hash: before.hash });
    stop();
    // The failure is not remembered: the next signal brings the new page.
    toolset.push({ method: 'notifications/resources/list_changed' });
    await untilView(fleet, PATH, page('two'));
    expect((await fleet.status()).toolsets[0]?.state).toBe('watching');
  });

  test('keeps the page while the toolset is down', async () => {
    const toolset = await startRawToolset({ tools: TOOLS, resources: V1 });
    const fleet = await startFleet({ shop: toolset.url });
    await getView(fleet, PATH);
    await toolset.close();
    await fleet.untilState('shop', 'failing');
    expect(await getView(fleet, PATH)).toMatchObject({ status: 200, text: page('one') });
  });
});

test('a burst of notifications of both kinds costs one read of a view, and a view that nobody asked for costs none', async () => {
  const toolset = await startRawToolset({
    tools: [...TOOLS, viewTool('unseen', { ui: { resourceUri: 'ui://shop/unseen.html' } })],
    resources: [...V1, { uri: 'ui://shop/unseen.html', text: page('unseen') }],
  });
  const fleet = await startFleet({ shop: toolset.url });
  await getView(fleet, PATH);
  toolset.tools = [...TOOLS, viewTool('more', {})];
  toolset.resources = V2;
  for (let i = 0; i < 20; i += 1) {
    toolset.push({ method: 'notifications/resources/list_changed' });
    toolset.push();
  }
  await untilView(fleet, PATH, page('two'));
  await fleet.untilGeneration(2);
  await stays(() => toolset.counts()['resources/read'] === 2, { durationMs: 300 });
});
