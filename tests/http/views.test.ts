import { request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import express from 'express';
import { createRouter, ViewCache } from '../../src/index.js';
import { getView, page, viewTool } from '../field/view-kit.js';
import { startFleet, tool } from '../flows/fleet.js';
import { gate } from '../support/gate.js';
import { serveLoopback } from '../support/loopback-server.js';
import { held, rpcError, rpcResult } from '../support/raw-answers.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { type SdkEra, startSdkToolset } from '../support/sdk-toolset.js';
import { until } from '../support/until.js';
import { startAgentHost } from './agent-host.js';

const URI = 'ui://kb/app/main.html';
const PATH = `kb/${encodeURIComponent('app/main.html')}`;
const TOOLS = [viewTool('look', { ui: { resourceUri: URI } })];
const LARGE = page('a view of some size '.repeat(500));

interface Raw {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

/** A request whose answer is not decoded on the way. */
function ask(baseUrl: string, { method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string> }): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const asked = request(`${baseUrl}/views/${PATH}`, { method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }));
    });
    asked.on('error', reject).end();
  });
}

async function kbFleet(text = LARGE) {
  const kb = await startSdkToolset({ era: 'legacy', tools: TOOLS, resources: [{ uri: URI, text }] });
  return { kb, fleet: await startFleet({ kb: kb.url }) };
}

test('a view is sent as a page in a sandbox, with a strong ETag, and is asked for again each time', async () => {
  const { fleet } = await kbFleet();
  const { status, headers, body } = await ask(fleet.baseUrl, {});
  expect(status).toBe(200);
  expect(body.toString()).toBe(LARGE);
  expect(headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    etag: expect.stringMatching(/^"sha256-[0-9a-f]{64}"$/),
    vary: expect.stringContaining('Accept-Encoding'),
    'content-security-policy': expect.stringMatching(/^sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; /),
  });
});

test.each([
  ['as it is', (etag: string) => etag],
  ['weakly', (etag: string) => `W/${etag}`],
  ['in a list', (etag: string) => `"other", ${etag}`],
  ['as anything', () => '*'],
])('an ETag that matches %s is answered by 304, without a body and with the policy', async (_how, header) => {
  const { fleet, kb } = await kbFleet();
  const { headers } = await ask(fleet.baseUrl, {});
  const again = await ask(fleet.baseUrl, { headers: { 'if-none-match': header(String(headers.etag)) } });
  expect(again.status).toBe(304);
  expect(again.body).toHaveLength(0);
  expect(again.headers).toMatchObject({ etag: headers.etag, 'content-security-policy': headers['content-security-policy'] });
  expect((await ask(fleet.baseUrl, { headers: { 'if-none-match': '"sha256-other"' } })).status).toBe(200);
  expect(kb.counts()['resources/read']).toBe(1);
});

test('HEAD answers the headers of GET', async () => {
  const { fleet } = await kbFleet();
  const { headers } = await ask(fleet.baseUrl, {});
  const head = await ask(fleet.baseUrl, { method: 'HEAD' });
  expect(head.body).toHaveLength(0);
  for (const name of ['etag', 'content-type', 'content-length', 'content-security-policy']) expect(head.headers[name]).toBe(headers[name]);
});

test('browsers that accept it get the page compressed, others do not', async () => {
  const { fleet } = await kbFleet();
  const gzipped = await until(async () => {
    const answer = await ask(fleet.baseUrl, { headers: { 'accept-encoding': 'gzip, br' } });
    expect(answer.headers['content-encoding']).toBe('gzip');
    return answer;
  });
  expect(gunzipSync(gzipped.body).toString()).toBe(LARGE);
  expect(Number(gzipped.headers['content-length'])).toBe(gzipped.body.byteLength);
  for (const accepted of ['identity', 'gzip;q=0', 'br'])
    expect((await ask(fleet.baseUrl, { headers: { 'accept-encoding': accepted } })).headers['content-encoding']).toBeUndefined();
});

test.each([
  'kb/nothing',
  'nobody/app%2Fmain.html',
  'kb/%00',
  'kb/..%2F..%2Fetc%2Fpasswd',
  `${PATH}?hash=sha256-unknown`,
  `${PATH}?hash=a&hash=b`,
])('what no tool names is unknown: %s', async (path) => {
  const { fleet } = await kbFleet();
  await getView(fleet, PATH);
  const { status, text, headers } = await getView(fleet, path);
  expect(status).toBe(404);
  expect(JSON.parse(text)).toMatchObject({ code: 'unknown_view' });
  expect(headers.get('content-type')).toMatch(/json/);
});

test('before the first generation the answer is 503', async () => {
  const host = await startAgentHost({ empty: true });
  const response = await fetch(`${host.url}/views/${PATH}`);
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ code: 'not_ready' });
});

test('a toolset that does not answer the first read is a 502 with a code, and the next request asks again', async () => {
  const kb = await startRawToolset({ tools: TOOLS, resources: [{ uri: URI, text: LARGE }] });
  const fleet = await startFleet({ kb: kb.url }, { env: { MCP_AGENT_API_LIST_TIMEOUT_SECONDS: '1' } });
  const codes: unknown[] = [];
  for (const answer of [rpcError(-32603, 'secret trouble'), rpcResult({ contents: [{ uri: URI, blob: 5 }] }), held(gate())]) {
    kb.once('resources/read', answer);
    const { status, text } = await getView(fleet, PATH);
    expect(status).toBe(502);
    expect(text).not.toContain('secret');
    codes.push((JSON.parse(text) as { code: string }).code);
  }
  expect(codes).toEqual(['TOOLSET_PROTOCOL_ERROR', expect.stringMatching(/^(TOOLSET_PROTOCOL_ERROR|VIEW_UNREADABLE)$/), 'VIEW_TIMEOUT']);
  expect(await getView(fleet, PATH)).toMatchObject({ status: 200, text: LARGE });
});

test.each<SdkEra>(['legacy', 'modern'])('a hundred readers cost one read, and one more for a change (%s)', async (era) => {
  const kb = await startSdkToolset({ era, tools: TOOLS, resources: [{ uri: URI, text: page('one') }] });
  const fleet = await startFleet({ kb: kb.url });
  const readAll = () => Promise.all(Array.from({ length: 100 }, () => getView(fleet, PATH)));
  const cold = await readAll();
  expect(new Set(cold.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set([`200 ${page('one')}`]));
  expect(kb.counts()['resources/read']).toBe(1);
  kb.setResources([{ uri: URI, text: page('two') }]);
  await until(async () => (await readAll()).every(({ text }) => text === page('two')));
  expect(kb.counts()['resources/read']).toBe(2);
});

test('views are read with the service’s own credentials, never with a user’s', async () => {
  const kb = await startSdkToolset({ era: 'legacy', tools: TOOLS, resources: [{ uri: URI, text: LARGE }] });
  const entry = { url: kb.url, headers: { 'x-service': 'service-secret' }, credentialHeaders: ['x-user'] };
  const fleet = await startFleet({ kb: entry });
  await getView(fleet, PATH, { 'x-user': 'user-secret' });
  const read = kb.requests.find(({ rpc }) => rpc === 'resources/read');
  expect(read?.headers).toMatchObject({ 'x-service': 'service-secret' });
  expect(JSON.stringify(kb.requests)).not.toContain('user-secret');
});

test('a host that keeps its agent itself serves views from a cache of its own', async () => {
  const host = await startAgentHost({ toolsets: [{ name: 'kb', tools: [tool('look', 'Looks.')] }] });
  const views = new ViewCache({ read: async () => ({ html: Buffer.from(LARGE), csp: undefined }) });
  views.name('kb', [URI]);
  const application = express();
  application.use(createRouter(() => host.slot.current?.agent, { views }));
  const http = await serveLoopback((req, res) => application(req, res));
  expect(await getView({ baseUrl: http.origin }, PATH)).toMatchObject({ status: 200, text: LARGE });
});
