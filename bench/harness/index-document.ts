import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Fleet } from './fleet.js';

/** The document that names the toolsets, where a scenario takes toolsets out of it. */
export interface IndexDocument {
  /** For `MCP_URL`. */
  readonly url: string;
  name(toolsets: Fleet['toolsets']): void;
  stop(): Promise<void>;
}

/** Serves an index that names these toolsets. */
export async function serveIndex(toolsets: Fleet['toolsets']): Promise<IndexDocument> {
  let named = toolsets;
  const server = createServer((_request, response) => {
    const connections = Object.fromEntries(named.map(({ name, url }) => [name, { transport: 'streamable_http', url }]));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ connections }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/index.json`,
    name(next) {
      named = next;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
