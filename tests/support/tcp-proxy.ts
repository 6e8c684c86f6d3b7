import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onCleanup } from './cleanup.js';
import { listenOnLoopback } from './ports.js';

export type Direction = 'up' | 'down' | 'both';

/** A TCP proxy that misbehaves on demand. `up` is from the client to the target, `down` the way back. */
export interface TcpProxy {
  readonly port: number;
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  /** Holds every chunk back by this many milliseconds, in both directions. May be changed at any time. */
  delayMs: number;
  /** Ends a connection on which nothing was sent for this long, in milliseconds, as load balancers do; 0 is never. */
  idleTimeoutMs: number;
  /** How an idle connection is ended. */
  idleEnd: 'fin' | 'rst';
  /** Ends all connections on both sides. */
  cut(how: 'fin' | 'rst'): void;
  /** Ends the way down of all connections, and leaves the way up open. */
  halfClose(): void;
  /** Swallows everything on open and new connections, without closing anything. What was swallowed is lost. */
  blackHole(direction: Direction, on: boolean): void;
  /** Swallows everything on the connections that are open now; new ones work. */
  blackHoleOpen(direction: Direction): void;
  /** With `true`, new connections are reset at once. */
  refuse(on: boolean): void;
  /** Connections that are open. */
  open(): number;
  /** Connections accepted so far. */
  accepted(): number;
  /** Bytes passed on so far. */
  bytes(): { readonly up: number; readonly down: number };
  close(): Promise<void>;
}

interface Link {
  readonly client: Socket;
  readonly target: Socket;
  readonly swallow: { up: boolean; down: boolean };
  idle: NodeJS.Timeout | undefined;
}

/** Starts a proxy on 127.0.0.1 in front of a port. It ends with the test. */
export async function startProxy(targetPort: number): Promise<TcpProxy> {
  const links = new Set<Link>();
  const swallow = { up: false, down: false };
  const bytes = { up: 0, down: 0 };
  let accepted = 0;
  let refusing = false;

  const end = ({ client, target }: Link, how: 'fin' | 'rst') => {
    for (const socket of [client, target]) {
      if (how === 'rst') socket.resetAndDestroy();
      else socket.end();
    }
  };
  const touch = (link: Link) => {
    clearTimeout(link.idle);
    if (proxy.idleTimeoutMs > 0) link.idle = setTimeout(() => end(link, proxy.idleEnd), proxy.idleTimeoutMs);
  };
  const carry = (link: Link, way: 'up' | 'down') => {
    const [from, to] = way === 'up' ? [link.client, link.target] : [link.target, link.client];
    const afterDelay = (run: () => void) => {
      if (proxy.delayMs > 0) setTimeout(run, proxy.delayMs);
      else run();
    };
    from.on('data', (chunk) => {
      if (swallow[way] || link.swallow[way]) return;
      touch(link);
      bytes[way] += chunk.length;
      afterDelay(() => {
        // After a half-close there is nobody left to write to on this side.
        if (to.writable) to.write(chunk);
      });
    });
    from.on('end', () => {
      // A side that is black-holed must not learn that the other one is gone.
      if (!swallow[way] && !link.swallow[way]) afterDelay(() => to.end());
    });
    from.on('error', () => {
      if (!swallow[way] && !link.swallow[way]) to.resetAndDestroy();
    });
  };

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    accepted++;
    if (refusing) {
      client.resetAndDestroy();
      return;
    }
    const target = connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    const link: Link = { client, target, swallow: { up: false, down: false }, idle: undefined };
    links.add(link);
    const forget = () => {
      if (!client.destroyed || !target.destroyed) return;
      clearTimeout(link.idle);
      links.delete(link);
    };
    client.on('close', forget);
    target.on('close', forget);
    carry(link, 'up');
    carry(link, 'down');
    touch(link);
  });
  await listenOnLoopback(server);
  const { port } = server.address() as AddressInfo;

  const set = (flags: { up: boolean; down: boolean }, direction: Direction, on: boolean) => {
    if (direction !== 'down') flags.up = on;
    if (direction !== 'up') flags.down = on;
  };
  let closing: Promise<void> | undefined;
  const proxy: TcpProxy = {
    port,
    origin: `http://127.0.0.1:${port}`,
    delayMs: 0,
    idleTimeoutMs: 0,
    idleEnd: 'rst',
    cut(how) {
      for (const link of links) end(link, how);
    },
    halfClose() {
      for (const { client } of links) client.end();
    },
    blackHole: (direction, on) => set(swallow, direction, on),
    blackHoleOpen(direction) {
      for (const link of links) set(link.swallow, direction, true);
    },
    refuse(on) {
      refusing = on;
    },
    open: () => links.size,
    accepted: () => accepted,
    bytes: () => ({ ...bytes }),
    close() {
      closing ??= new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const link of links) end(link, 'rst');
      });
      return closing;
    },
  };
  onCleanup(() => proxy.close());
  return proxy;
}
