import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { onCleanup } from '../support/cleanup.js';
import { startRawToolset } from '../support/raw-toolset.js';
import { codeOf, watchedSession } from './session-fixture.js';

/** An HTTP proxy that tunnels to wherever it is asked; answers its URL and what it was asked for. */
async function startForwardProxy() {
  const tunnels: string[] = [];
  const server = createServer();
  server.on('connect', (request, client) => {
    tunnels.push(String(request.url));
    const [host, port] = String(request.url).split(':');
    const target = connect({ host: host ?? '', port: Number(port) }, () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      target.pipe(client).pipe(target);
    });
    for (const [one, other] of [
      [client, target],
      [target, client],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onCleanup(() => new Promise((resolve) => server.close(resolve)));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, tunnels };
}

describe('a proxy that the environment names', () => {
  it('is used for everything that the session sends, the stream included', async () => {
    const toolset = await startRawToolset({ tools: [{ name: 'a' }] });
    const proxy = await startForwardProxy();
    const session = watchedSession(toolset.url, { env: { HTTP_PROXY: proxy.url } });
    await session.start();
    expect(session.status().push).toBe('watching');
    expect(await session.names()).toEqual(['a']);
    expect(proxy.tunnels.length).toBe(toolset.acceptedSockets());
    expect(proxy.tunnels.every((target) => target === `127.0.0.1:${toolset.port}`)).toBe(true);
    await session.close();
  });

  it('is passed by for hosts that NO_PROXY names', async () => {
    const toolset = await startRawToolset({ tools: [{ name: 'a' }] });
    const proxy = await startForwardProxy();
    const session = watchedSession(toolset.url, { env: { http_proxy: proxy.url, no_proxy: '127.0.0.1' } });
    expect(await session.names()).toEqual(['a']);
    expect(proxy.tunnels).toEqual([]);
  });

  it('that is not there makes the toolset unreachable', async () => {
    const toolset = await startRawToolset({ tools: [{ name: 'a' }] });
    const session = watchedSession(toolset.url, { env: { HTTP_PROXY: 'http://127.0.0.1:9' } });
    expect(await codeOf(session.start())).toBe('TOOLSET_UNREACHABLE');
    expect(toolset.requests).toHaveLength(0);
  });
});
