import { createServer, type Server } from 'node:http';
import express, { type Express, type Router } from 'express';

/** An Express application that serves nothing but the router; whatever else is asked for is a 404 as clause 9.1 words errors. */
export function createApplication(router: Router): Express {
  const application = express();
  application.disable('x-powered-by');
  application.use(router);
  application.use((req, res) => {
    res.status(404).json({ detail: `There is no ${req.method} ${req.path}.`, code: 'not_found' });
  });
  return application;
}

/** Listens; the address is known when this resolves. Rejects when the port is taken or the host is not this machine's. */
export function listen(application: Express, { host, port }: { host: string; port: number }): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer(application);
    server.once('error', reject);
    server.listen(port, host, () => {
      server.removeListener('error', reject);
      resolve(server);
    });
  });
}

/** How often a closing server looks for connections that have become idle. */
const SWEEP_MS = 100;

/**
 * Takes no new connections and waits until the open answers are written, at most `graceMs`; then whatever is left is cut.
 * Connections that are kept alive but idle are closed, because they would hold the server open for nothing.
 */
export function closeServer(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
    const cut = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearInterval(sweep);
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}
