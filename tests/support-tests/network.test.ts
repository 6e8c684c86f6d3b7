import { type AddressInfo, connect, createServer } from 'node:net';
import { onCleanup } from '../support/cleanup.js';
import { startIndex } from '../support/index-server.js';
import { destroy, respond } from '../support/raw-answers.js';
import { startProxy } from '../support/tcp-proxy.js';
import { stays, until } from '../support/until.js';

describe('an index', () => {
  test('names toolsets, and can be replaced', async () => {
    const index = await startIndex({ kb: 'http://127.0.0.1:1/mcp', raw: { transport: 'sse', url: 'http://x' } });
    expect(await (await fetch(index.url)).json()).toEqual({
      connections: { kb: { transport: 'streamable_http', url: 'http://127.0.0.1:1/mcp' }, raw: { transport: 'sse', url: 'http://x' } },
    });
    index.set({}, { toolsets: [{ name: 'kb', status: 'unreachable' }] });
    expect(await (await fetch(index.url)).json()).toEqual({ connections: {}, toolsets: [{ name: 'kb', status: 'unreachable' }] });
    expect((await fetch(index.url, { method: 'POST', body: '{}' })).status).toBe(405);
    expect(index.reads()).toBe(3);
  });

  test('answers by a script until it is told to be good', async () => {
    const index = await startIndex();
    index.answer(respond({ status: 500, body: 'no' }));
    expect((await fetch(index.url)).status).toBe(500);
    index.answer(destroy);
    await expect(fetch(index.url)).rejects.toThrow('fetch failed');
    index.answer();
    expect(await (await fetch(index.url)).json()).toEqual({ connections: {} });
  });
});

/** A server that sends back everything, behind a proxy, and one client connection to it. */
async function throughProxy() {
  const target = createServer((socket) => {
    socket.pipe(socket);
    socket.on('error', () => undefined);
    onCleanup(() => socket.destroy());
  });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  onCleanup(() => target.close());
  const proxy = await startProxy((target.address() as AddressInfo).port);
  const open = () => {
    const socket = connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true });
    const seen = { text: '', ended: false, error: undefined as string | undefined };
    socket.on('data', (chunk) => {
      seen.text += chunk.toString();
    });
    socket.on('end', () => {
      seen.ended = true;
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      seen.error = error.code;
    });
    onCleanup(() => socket.destroy());
    return { socket, seen };
  };
  return { proxy, open };
}

describe('the proxy', () => {
  test('passes bytes on, later where that is asked for', async () => {
    const { proxy, open } = await throughProxy();
    const { socket, seen } = open();
    socket.write('a');
    await until(() => seen.text === 'a');
    proxy.delayMs = 60;
    const startedAt = performance.now();
    socket.write('b');
    await until(() => seen.text === 'ab');
    expect(performance.now() - startedAt).toBeGreaterThan(100);
    expect(proxy.bytes()).toEqual({ up: 2, down: 2 });
    expect([proxy.open(), proxy.accepted()]).toEqual([1, 1]);
    socket.destroy();
    await until(() => proxy.open() === 0);
  });

  test.each(['fin', 'rst'] as const)('cuts connections: %s', async (how) => {
    const { proxy, open } = await throughProxy();
    const { socket, seen } = open();
    socket.write('a');
    await until(() => seen.text === 'a');
    proxy.cut(how);
    await until(() => seen.ended || seen.error);
    expect(seen.error).toBe(how === 'rst' ? 'ECONNRESET' : undefined);
    socket.end();
    await until(() => proxy.open() === 0);
  });

  test('half-closes: the client hears the end and can still send', async () => {
    const { proxy, open } = await throughProxy();
    const { socket, seen } = open();
    socket.write('a');
    await until(() => seen.text === 'a');
    proxy.halfClose();
    await until(() => seen.ended);
    socket.write('b');
    await until(() => proxy.bytes().up === 2);
    expect(proxy.open()).toBe(1);
  });

  test('swallows everything without closing anything', async () => {
    const { proxy, open } = await throughProxy();
    const first = open();
    first.socket.write('a');
    await until(() => first.seen.text === 'a');
    proxy.blackHole('down', true);
    first.socket.write('b');
    await until(() => proxy.bytes().up === 2);
    await stays(() => first.seen.text === 'a' && !first.seen.ended, { durationMs: 50 });
    proxy.blackHole('down', false);
    proxy.blackHoleOpen('both');
    first.socket.write('c');
    const second = open();
    second.socket.write('new');
    await until(() => second.seen.text === 'new');
    expect(first.seen).toEqual({ text: 'a', ended: false, error: undefined });
  });

  test('ends idle connections, and refuses new ones', async () => {
    const { proxy, open } = await throughProxy();
    proxy.idleTimeoutMs = 40;
    const { seen } = open();
    await until(() => seen.error === 'ECONNRESET');
    proxy.refuse(true);
    const refused = open();
    await until(() => refused.seen.error === 'ECONNRESET');
  });
});
