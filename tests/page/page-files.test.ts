import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import express from 'express';
import { closeServer, listen } from '../../src/http/application.js';
import { createRouter } from '../../src/index.js';
import { onCleanup } from '../support/cleanup.js';
import { startIndex } from '../support/index-server.js';
import { startSdkToolset } from '../support/sdk-toolset.js';
import { buildPage } from './built-page.js';
import { startService } from './service.js';

/** CONTRACT.md 10, issue 5: what has to be loaded before the page can be seen, compressed. */
const FIRST_PAINT_BYTES = 200_000;

let pageFolder: string;

beforeAll(async () => {
  pageFolder = await buildPage();
}, 120_000);

async function start(env: Readonly<Record<string, string>> = {}, folder = pageFolder): Promise<string> {
  const toolset = await startSdkToolset({ era: 'modern', tools: [{ name: 'look', run: () => 'seen' }] });
  const index = await startIndex({ kb: toolset.url });
  return (await startService({ pageFolder: folder, mcpUrl: index.url, env })).baseUrl;
}

/** The addresses of the scripts and styles that the document names. */
function namedFiles(html: string): string[] {
  return [...html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map(([, name]) => name ?? '');
}

test('the document needs no token, may load nothing from elsewhere, and runs no script but its own', async () => {
  const baseUrl = await start({ MCP_AGENT_API_TOKEN: 'api-token' });
  const answer = await fetch(`${baseUrl}/`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
  const policy = answer.headers.get('content-security-policy') ?? '';
  expect(policy.split('; ')).toEqual(
    expect.arrayContaining(["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"]),
  );
  expect(policy).not.toMatch(/unsafe|\*|https?:/);
  expect((await fetch(`${baseUrl}/refresh`)).status).toBe(401);
});

test('what the first paint needs is sent compressed, in less than 200 kB, and may be kept for ever', async () => {
  const baseUrl = await start();
  const html = await (await fetch(`${baseUrl}/`)).text();
  const names = namedFiles(html);
  expect(names.map((name) => name.split('.').at(-1)).sort()).toEqual(['css', 'js']);
  let bytes = gzipSync(html).length;
  for (const name of names) {
    const answer = await fetch(`${baseUrl}/${name}`, { headers: { 'accept-encoding': 'gzip' } });
    expect(answer.headers.get('content-encoding')).toBe('gzip');
    expect(answer.headers.get('cache-control')).toContain('immutable');
    const content = Buffer.from(await answer.arrayBuffer());
    expect(content.equals(await readFile(join(pageFolder, name)))).toBe(true);
    bytes += gzipSync(content).length;
  }
  expect(bytes).toBeLessThan(FIRST_PAINT_BYTES);
});

test('a client that takes nothing compressed gets the file as it is', async () => {
  const baseUrl = await start();
  const answer = await fetch(`${baseUrl}/icon.svg`, { headers: { 'accept-encoding': 'identity' } });
  expect(answer.headers.get('content-encoding')).toBeNull();
  expect(await answer.text()).toBe(await readFile(join(pageFolder, 'icon.svg'), 'utf8'));
});

test.each([
  '/assets/..%2Findex.html',
  '/assets/..%2F..%2Fpackage.json',
  '/assets/%2Fetc%2Fpasswd',
  '/assets/.hidden.js',
  '/assets/none.js',
])('%s is no file of the page', async (path) => {
  const baseUrl = await start();
  const answer = await fetch(baseUrl + path);
  expect(answer.status).toBe(404);
  expect(await answer.json()).toMatchObject({ code: 'not_found' });
});

test('MCP_AGENT_API_UI=off serves no page', async () => {
  const baseUrl = await start({ MCP_AGENT_API_UI: 'off' });
  expect((await fetch(`${baseUrl}/`)).status).toBe(404);
  expect((await fetch(`${baseUrl}/view-frame.html`)).status).toBe(404);
  expect((await fetch(`${baseUrl}/refresh`)).status).toBe(200);
});

test('a page that was never built is a 404 that says how to build it', async () => {
  const baseUrl = await start({}, join(pageFolder, 'missing'));
  const answer = await fetch(`${baseUrl}/`);
  expect(answer.status).toBe(404);
  expect(await answer.json()).toEqual({ detail: 'The page is not built; npm run build makes it.', code: 'not_found' });
});

test('a host may mount the page below a path; without the slash at its end the browser is sent on', async () => {
  const application = express();
  application.use(
    '/agent',
    createRouter(() => undefined, { pageFolder }),
  );
  const server = await listen(application, { host: '127.0.0.1', port: 0 });
  onCleanup(() => closeServer(server, 0));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const answer = await fetch(`${baseUrl}/agent?x=1`);
  expect(answer.url).toBe(`${baseUrl}/agent/?x=1`);
  const [name] = namedFiles(await answer.text());
  expect((await fetch(new URL(name ?? '', answer.url))).status).toBe(200);
});
