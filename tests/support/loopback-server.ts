import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { onCleanup } from './cleanup.js';
import { listenOnLoopback } from './ports.js';

export interface LoopbackServer {
  readonly port: number;
  /** `http://127.0.0.1:<port>`, without a path. */
  readonly origin: string;
  readonly server: Server;
  /** Connections that are open now. */
  sockets(): number;
  /** Requests whose answer has not ended yet, open streams included. */
  active(): number;
  /** Connections accepted so far. */
  accepted(): number;
  /** Ends all open connections with a reset, or with an orderly end. The port stays open. */
  cutSockets(how: 'fin' | 'rst'): void;
  /** Closes the port and all connections: `rst` as a killed process does, `fin` as one that exits in order. Closing twice is harmless. */
  close(how?: 'fin' | 'rst'): Promise<void>;
}

/** Serves `handle` on 127.0.0.1 until the test is over. A port of 0 is a free one. */
export async function serveLoopback(
  handle: (request: IncomingMessage, response: ServerResponse) => unknown,
  port = 0,
): Promise<LoopbackServer> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  let active = 0;
  const server = createServer((request, response) => {
    // Whoever talks to these servers may vanish at any moment; that is no error of the test.
    response.on('error', () => undefined);
    active++;
    response.on('close', () => active--);
    void Promise.resolve(handle(request, response)).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else response.writeHead(500, { 'content-type': 'text/plain' }).end(String(error));
    });
  });
  server.on('connection', (socket) => {
    accepted++;
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  await listenOnLoopback(server, port);
  const opened = (server.address() as AddressInfo).port;
  const cutSockets = (how: 'fin' | 'rst') => {
    for (const socket of sockets) {
      if (how === 'rst') socket.resetAndDestroy();
      else socket.end(() => socket.destroy());
    }
  };
  let closing: Promise<void> | undefined;
  const close = (how: 'fin' | 'rst' = 'rst') => {
    closing ??= (async () => {
      const closed = [...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
      const listenerClosed = new Promise((resolve) => server.close(resolve));
      cutSockets(how);
      await Promise.all([listenerClosed, ...closed]);
    })();
    return closing;
  };
  onCleanup(() => close());
  return {
    port: opened,
    origin: `http://127.0.0.1:${opened}`,
    server,
    sockets: () => sockets.size,
    active: () => active,
    accepted: () => accepted,
    cutSockets,
    close,
  };
}

/** Reads a request's whole body as text. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
