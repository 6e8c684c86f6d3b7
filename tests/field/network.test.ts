import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildCommand } from '../flows/build.js';
import { startFleet, tool } from '../flows/fleet.js';
import { type HttpProxy, startHttpProxy } from '../support/http-proxy.js';
import { type IndexServer, startIndex } from '../support/index-server.js';
import { type ModelServer, shownTools, startModelServer } from '../support/model-server.js';
import { type ServiceProcess, startService } from '../support/process.js';
import { type RawToolset, startRawToolset } from '../support/raw-toolset.js';
import { runTurn } from '../support/run-client.js';
import { type Certificate, makeCertificate, startTlsFront } from '../support/tls-front.js';
import { until } from '../support/until.js';

const FAST = { MCP_AGENT_API_DEBOUNCE_MS: '20', MCP_AGENT_API_LIST_TIMEOUT_SECONDS: '5' };
const NOWHERE = 'http://no-such-host.invalid/mcp';
const hostOf = (url: string) => new URL(url).host;

let folder: string;
let script: string;

beforeAll(async () => {
  ({ folder, script } = await buildCommand());
}, 120_000);

/** An index, a toolset of each era and a provider, each behind TLS with the same certificate. */
interface Secured {
  readonly env: Record<string, string>;
  readonly index: IndexServer;
  readonly model: ModelServer;
  readonly toolsets: Readonly<Record<'old' | 'new', RawToolset>>;
  /** `host:port` of everything that the service has to reach. */
  readonly hosts: Readonly<Record<'index' | 'model' | 'old' | 'new', string>>;
  readonly authority: string;
}

async function secured(certificate: Certificate): Promise<Secured> {
  const front = (port: number) => startTlsFront(port, certificate);
  const old = await startRawToolset({ era: 'legacy', tools: [tool('a', 'one')] });
  const modern = await startRawToolset({ era: 'modern', tools: [tool('b', 'one')] });
  const model = await startModelServer({ strict: true });
  const [oldFront, newFront, modelFront] = await Promise.all([
    front(old.port),
    front(modern.port),
    front(Number(new URL(model.baseUrl).port)),
  ]);
  const index = await startIndex({ old: `${oldFront.origin}/mcp`, new: `${newFront.origin}/mcp` });
  const indexFront = await front(index.port);
  const authority = join(folder, `authority-${indexFront.host.replace(/\W/g, '-')}.pem`);
  await writeFile(authority, certificate.cert);
  return {
    env: {
      ...FAST,
      MCP_URL: `${indexFront.origin}/index.json`,
      MCP_AGENT_API_INDEX_SECONDS: '0.3',
      MCP_AGENT_API_ADMIN_TOKEN: 'admin-token',
      PROVIDER_MODEL: 'openai:test-model',
      PROVIDER_API_KEY: 'test-key',
      PROVIDER_BASE_URL: `${modelFront.origin}${new URL(model.baseUrl).pathname}`,
      PORT: '0',
    },
    index,
    model,
    toolsets: { old, new: modern },
    hosts: { index: indexFront.host, model: modelFront.host, old: oldFront.host, new: newFront.host },
    authority,
  };
}

async function serve(env: Record<string, string>): Promise<{ readonly service: ServiceProcess; readonly baseUrl: string }> {
  const service = startService([], env, { script, cwd: folder });
  const { port } = JSON.parse(await service.line('"listening"')) as { port: number };
  return { service, baseUrl: `http://127.0.0.1:${port}` };
}

async function statusOf(baseUrl: string) {
  const response = await fetch(`${baseUrl}/refresh`, { headers: { authorization: 'Bearer admin-token' } });
  return (await response.json()) as {
    index?: { error: { code: string } | null };
    toolsets: { name: string; state: string; error: { code: string; message?: string } | null }[];
  };
}

describe('the process', () => {
  let all: Secured;
  let proxy: HttpProxy;

  beforeEach(async () => {
    all = await secured(await makeCertificate());
    proxy = await startHttpProxy();
  });

  /** Runs the service until both toolsets are watched, a change was heard and a run has shown it to the model. */
  async function everythingWorks(env: Record<string, string>): Promise<void> {
    const { service, baseUrl } = await serve({ ...all.env, NODE_EXTRA_CA_CERTS: all.authority, ...env });
    await service.line('"ready for runs"');
    await until(async () => (await statusOf(baseUrl)).toolsets.every(({ state }) => state === 'watching'), { what: 'both to be watched' });
    all.toolsets.old.tools = [tool('a', 'two')];
    all.toolsets.old.push();
    await until(
      async () => {
        const asked = all.model.requests.length;
        expect((await runTurn(baseUrl, { text: 'What can you do?' })).events.at(-1)?.type).toBe('RUN_FINISHED');
        return shownTools(all.model.requests[asked]).find(({ name }) => name === 'a')?.description === 'two';
      },
      { what: 'the change to be shown' },
    );
    expect(await service.stop()).toBe(0);
  }

  test('reaches index, toolsets and provider through HTTPS_PROXY, with the authority that NODE_EXTRA_CA_CERTS names', async () => {
    await everythingWorks({ HTTPS_PROXY: proxy.url });
    expect(new Set(proxy.log)).toEqual(new Set(Object.values(all.hosts)));
    await until(() => proxy.tunnels() === 0, { what: 'no tunnel after the end' });
  });

  test('reaches them directly where NO_PROXY names them', async () => {
    await everythingWorks({ HTTPS_PROXY: proxy.url, NO_PROXY: 'example.com,127.0.0.1' });
    expect(proxy.log).toEqual([]);
  });

  test('that does not know the authority trusts nobody: not the index, and without it no toolset', async () => {
    const { service, baseUrl } = await serve({ ...all.env, MCP_AGENT_API_STARTUP_SECONDS: '3' });
    await until(async () => (await statusOf(baseUrl)).index?.error?.code === 'INDEX_CERTIFICATE', { what: 'the index to be refused' });
    expect(await service.exited).toBe(1);
    expect(service.stderr.join('\n')).toContain('INDEX_CERTIFICATE');
    expect([...all.toolsets.old.requests, ...all.toolsets.new.requests]).toEqual([]);
  });

  test('tells an expired certificate, although its authority is known, by its code', async () => {
    const expired = await secured(await makeCertificate({ validity: 'expired' }));
    const index = await startIndex({ old: `https://${expired.hosts.old}/mcp`, new: `https://${expired.hosts.new}/mcp` });
    const env = { ...expired.env, MCP_URL: index.url, NODE_EXTRA_CA_CERTS: expired.authority };
    const { baseUrl } = await serve(env);
    await until(async () => {
      const { toolsets } = await statusOf(baseUrl);
      const expected = expect.objectContaining({ code: 'TOOLSET_CERTIFICATE', message: expect.stringContaining('CERT_HAS_EXPIRED') });
      expect(toolsets.map(({ error }) => error)).toEqual([expected, expected]);
      return true;
    });
  });
});

describe('HTTP_PROXY', () => {
  test('is used for index and toolsets of both eras, streams and calls included, and not for what NO_PROXY names', async () => {
    const old = await startRawToolset({ era: 'legacy', tools: [tool('a', 'one')] });
    const modern = await startRawToolset({ era: 'modern', tools: [tool('b', 'one')] });
    const direct = await startRawToolset({ tools: [tool('c', 'one')] });
    const proxy = await startHttpProxy();
    const env = { ...FAST, HTTP_PROXY: proxy.url, NO_PROXY: `127.0.0.1:${direct.port}` };
    const fleet = await startFleet({ old: old.url, new: modern.url, direct: direct.url }, { env });
    for (const toolset of [old, modern, direct]) {
      toolset.tools = [tool(toolset === old ? 'a' : toolset === modern ? 'b' : 'c', 'two')];
      toolset.push();
    }
    await until(async () => expect(await fleet.shown()).toEqual({ a: 'two', b: 'two', c: 'two' }) === undefined);
    expect(new Set(proxy.log)).toEqual(new Set([hostOf(fleet.index.url), hostOf(old.url), hostOf(modern.url)]));
    // Every socket of these two came through the proxy.
    const through = proxy.log.filter((host) => host === hostOf(old.url) || host === hostOf(modern.url));
    expect(through).toHaveLength(old.acceptedSockets() + modern.acceptedSockets());
  });

  test('that dies and comes back is an outage like any other: the tools stay, and afterwards changes are heard', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    const proxy = await startHttpProxy();
    const fleet = await startFleet({ toolset: toolset.url }, { env: { ...FAST, HTTP_PROXY: proxy.url } });
    await proxy.close();
    await fleet.untilState('toolset', 'failing');
    expect(await fleet.shown()).toEqual({ a: 'one' });
    expect((await fleet.toolset('toolset')).error?.code).toBe('TOOLSET_UNREACHABLE');
  });
});

describe('an error code of its own', () => {
  test.each(['valid', 'expired'] as const)('has a certificate that nobody known vouches for (%s)', async (validity) => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    const other = await startRawToolset({ tools: [tool('b', 'one')] });
    const front = await startTlsFront(toolset.port, await makeCertificate({ validity }));
    const fleet = await startFleet({ toolset: `${front.origin}/mcp`, other: other.url }, { env: FAST, wait: false });
    expect((await fleet.untilState('toolset', 'failing')).error?.code).toBe('TOOLSET_CERTIFICATE');
    await fleet.untilState('other', 'watching');
    expect(toolset.requests).toEqual([]);
    await fleet.untilGeneration(1);
    expect(await fleet.shown()).toEqual({ b: 'one' });
  });

  test('has a host name that does not resolve', async () => {
    const other = await startRawToolset({ tools: [tool('b', 'one')] });
    const fleet = await startFleet({ toolset: NOWHERE, other: other.url }, { env: FAST, wait: false });
    expect((await fleet.untilState('toolset', 'failing')).error?.code).toBe('TOOLSET_UNKNOWN_HOST');
    await fleet.untilState('other', 'watching');
  });

  test('has each of them where it is the index', async () => {
    const index = await startIndex({});
    const front = await startTlsFront(index.port, await makeCertificate());
    const codes = [
      [`${front.origin}/index.json`, 'INDEX_CERTIFICATE'],
      [NOWHERE, 'INDEX_UNKNOWN_HOST'],
      ['http://127.0.0.1:9/index.json', 'INDEX_UNREACHABLE'],
    ] as const;
    for (const [mcpUrl, code] of codes) {
      const fleet = await startFleet({}, { mcpUrl, env: { ...FAST, MCP_AGENT_API_STARTUP_SECONDS: '1' }, wait: false });
      await expect(fleet.started).rejects.toThrow(code);
    }
    expect(index.reads()).toBe(0);
  });

  test('is kept by a toolset whose certificate was exchanged while it was watched; its tools stay', async () => {
    const toolset = await startRawToolset({ tools: [tool('a', 'one')] });
    const certificate = await makeCertificate();
    const front = await startTlsFront(toolset.port, certificate);
    const fleet = await startFleet({ toolset: toolset.url }, { env: { ...FAST, MCP_AGENT_API_INDEX_SECONDS: '0.2' } });
    // The index moves the toolset to an address whose certificate is not trusted: a new identity, which has never answered.
    fleet.index.set({ toolset: `${front.origin}/mcp` });
    await until(async () => (await fleet.status()).toolsets.some(({ error }) => error?.code === 'TOOLSET_CERTIFICATE'));
    expect(await fleet.shown()).toEqual({ a: 'one' });
  });
});
