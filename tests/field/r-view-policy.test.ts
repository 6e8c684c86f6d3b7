import { startFleet } from '../flows/fleet.js';
import { rpcError, rpcResult } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { until } from '../support/until.js';
import { getView, page, viewTool } from './view-kit.js';

const URI = 'ui://map/app.html';
const TOOLS = [viewTool('map', { ui: { resourceUri: URI } })];
const csp = (domain: string) => ({ ui: { csp: { connectDomains: [domain], resourceDomains: [domain] } } });

/** The sources of one directive. */
function sourcesOf(policy: string, directive: string): string[] {
  const found = policy.split('; ').find((part) => part.startsWith(`${directive} `));
  return found?.split(' ').slice(1) ?? [];
}

async function mapWith({ content, entry }: { content?: object; entry?: object }, era: 'legacy' | 'modern') {
  const toolset = await startRawToolset({
    era,
    tools: TOOLS,
    resources: [{ uri: URI, text: page('map'), ...(content && { _meta: content as Record<string, unknown> }) }],
  });
  const wrap = era === 'modern' ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {};
  toolset.on('resources/list', rpcResult({ ...wrap, resources: [{ uri: URI, name: 'map', ...(entry && { _meta: entry }) }] }));
  return { toolset, fleet: await startFleet({ map: toolset.url }) };
}

describe.each(['legacy', 'modern'] as const)('B140: what a view declares that it may load (%s)', (era) => {
  test.each([
    ['on the content only', { content: csp('https://content.example') }, ['https://content.example']],
    ['on the list entry only', { entry: csp('https://entry.example') }, ['https://entry.example']],
    [
      'on both: the content wins',
      { content: csp('https://content.example'), entry: csp('https://entry.example') },
      ['https://content.example'],
    ],
    ['nowhere', {}, ["'none'"]],
  ])('%s', async (_where, where, expected) => {
    const { fleet } = await mapWith(where, era);
    const { policy, status } = await getView(fleet, 'map/app.html');
    expect(status).toBe(200);
    expect(sourcesOf(policy, 'sandbox')).toEqual(['allow-scripts']);
    expect(sourcesOf(policy, 'default-src')).toEqual(["'none'"]);
    expect(sourcesOf(policy, 'connect-src')).toEqual(expected);
    expect(sourcesOf(policy, 'script-src')).toEqual(["'unsafe-inline'", ...expected.filter((source) => source !== "'none'")]);
    expect(policy).not.toContain("'self'");
  });
});

test('B140: what is no origin is dropped, and the origins beside it stay', async () => {
  const odd = [
    '*',
    'javascript:alert(1)',
    'data:',
    'https://a.example; script-src *',
    "'unsafe-eval'",
    'https://',
    'https://*',
    'https://*.com',
    42,
    null,
    'https://a.example/path',
    'ftp://a.example',
    'https://u:p@a.example',
    'https://a.example\r\nx: y',
  ];
  const good = ['https://ok.example', 'wss://ok.example:8443', 'http://127.0.0.1:3000', 'https://*.tiles.example', 'https://[::1]:1'];
  const content = {
    ui: { csp: { connectDomains: [...odd, ...good], frameDomains: odd, baseUriDomains: 'https://x.example', resourceDomains: { 0: '*' } } },
  };
  const { fleet } = await mapWith({ content }, 'legacy');
  const { policy } = await getView(fleet, 'map/app.html');
  expect(sourcesOf(policy, 'connect-src')).toEqual(good);
  expect(sourcesOf(policy, 'frame-src')).toEqual(["'none'"]);
  expect(sourcesOf(policy, 'base-uri')).toEqual(["'none'"]);
  expect(sourcesOf(policy, 'style-src')).toEqual(["'unsafe-inline'"]);
});

test('B140: another policy of the same page is another content, and a browser that has the old one gets the new one', async () => {
  const { fleet, toolset } = await mapWith({ content: csp('https://one.example') }, 'legacy');
  const before = await getView(fleet, 'map/app.html');
  toolset.resources = [{ uri: URI, text: page('map'), _meta: csp('https://two.example') }];
  toolset.push({ method: 'notifications/resources/list_changed' });
  const after = await until(async () => {
    const view = await getView(fleet, 'map/app.html', { 'if-none-match': `"${before.hash}"` });
    expect(view.status).toBe(200);
    return view;
  });
  expect(sourcesOf(after.policy, 'connect-src')).toEqual(['https://two.example']);
  expect((await getView(fleet, `map/app.html?hash=${before.hash}`)).policy).toBe(before.policy);
});

test('B140: a resource list that fails keeps what it said before, and a toolset without one serves its page', async () => {
  const { fleet, toolset } = await mapWith({ entry: csp('https://entry.example') }, 'legacy');
  const before = await getView(fleet, 'map/app.html');
  toolset.on('resources/list', rpcError(-32603, 'Out of order'));
  toolset.resources = [{ uri: URI, text: page('new map') }];
  toolset.push({ method: 'notifications/resources/list_changed' });
  const after = await until(async () => {
    const view = await getView(fleet, 'map/app.html');
    expect(view.hash).not.toBe(before.hash);
    return view;
  });
  expect(after.policy).toBe(before.policy);

  const plain = await mapWith({}, 'legacy');
  plain.toolset.on('resources/list', rpcError(-32601, 'Method not found'));
  expect((await getView(plain.fleet, 'map/app.html')).status).toBe(200);
});
