import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

/**
 * Ports below those that systems give to outgoing connections (from 32768 on Linux). A server that goes away and comes back on its port
 * finds it free: no connection of anybody can have taken it meanwhile.
 */
const FROM = 15_000;
const TO = 32_000;
const ATTEMPTS = 100;

/** Listens on 127.0.0.1, on this port or, for 0, on a free one. Rejects when the port is taken. */
export async function listenOnLoopback(server: Server, port = 0): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await listen(server, port === 0 ? randomInt(FROM, TO) : port);
      return;
    } catch (error) {
      // Somebody has the port that was drawn; another one is drawn.
      const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
      if (!taken || port !== 0 || attempt === ATTEMPTS) throw error;
    }
  }
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
