import { createServer, request as forward } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { onCleanup } from './cleanup.js';

/** A forward proxy, as companies put one between their machines and the rest. */
export interface HttpProxy {
  /** For `HTTP_PROXY` and `HTTPS_PROXY`. */
  readonly url: string;
  /** `host:port` of every tunnel (CONNECT) and of every request that was sent on, in order. */
  readonly log: readonly string[];
  /** Tunnels that are open. */
  tunnels(): number;
  close(): Promise<void>;
}

/** Starts a proxy on 127.0.0.1 that tunnels to wherever it is asked, and sends plain requests on. It ends with the test. */
export async function startHttpProxy(): Promise<HttpProxy> {
  const log: string[] = [];
  const open = new Set<Socket>();
  const server = createServer((request, response) => {
    if (!URL.canParse(request.url ?? '')) {
      response.writeHead(400).end();
      return;
    }
    const url = new URL(request.url ?? '');
    log.push(url.host);
    const onward = forward(url, { method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  server.on('connect', (request, client: Socket) => {
    const target = String(request.url);
    log.push(target);
    const [host = '', port] = target.split(':');
    const socket = connect({ host, port: Number(port) }, () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      socket.pipe(client).pipe(socket);
    });
    open.add(client);
    client.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    client.on('close', () => open.delete(client));
    socket.on('error', () => client.destroy()).on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
      for (const client of open) client.destroy();
    });
    return closing;
  };
  onCleanup(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, log, tunnels: () => open.size, close };
}
