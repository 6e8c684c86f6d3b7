import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

/**
 * Ports below those that systems give to outgoing connections (from 32768 on Linux). A server that goes away and comes back on its port
 * finds it free: no connection of anybody can have taken it meanwhile.
 */
const FIRST = 15_000;
const PORTS = 4_000;
/** Workers that run tests side by side draw from ranges of their own; what runs outside of jest has the last range. */
const FROM = FIRST + ((Number(process.env.JEST_WORKER_ID ?? 4) - 1) % 4) * PORTS;
const ATTEMPTS = 100;
/** No port is drawn twice, so that a server that is away for a while does not find another one in its place. */
const drawn = new Set<number>();

/** Listens on 127.0.0.1, on this port or, for 0, on a free one. Rejects when the port is taken. */
export async function listenOnLoopback(server: Server, port = 0): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await listen(server, port === 0 ? drawPort() : port);
      return;
    } catch (error) {
      // Somebody has the port that was drawn; another one is drawn. Under jest, Node's errors are no instances of the test's own `Error`.
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || port !== 0 || attempt === ATTEMPTS) throw error;
    }
  }
}

function drawPort(): number {
  if (drawn.size > PORTS / 2) drawn.clear();
  let port = randomInt(FROM, FROM + PORTS);
  while (drawn.has(port)) port = randomInt(FROM, FROM + PORTS);
  drawn.add(port);
  return port;
}

/** A port on which nobody listens now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await listenOnLoopback(server);
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return address.port;
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}
