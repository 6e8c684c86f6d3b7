import { unwatchFile, watchFile } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Logger } from '../../core/ports.js';
import { type DefinitionFile, openDefinitionFile } from './definition-file.js';
import { createSessionServer } from './session-server.js';
import { createSubscriptionServer } from './subscription-server.js';
import type { ToolsetOffer, ToolsetServer } from './toolset-server.js';

/** The demo's toolsets, by name: one of each protocol era. */
const TOOLSETS = { 'knowledge-base': createSessionServer, places: createSubscriptionServer } as const satisfies Record<
  string,
  (offer: ToolsetOffer) => ToolsetServer
>;

/** The one page of the demo; saving it shows that a view changes without a swap. */
const VIEW_FILE = 'places.html';
const LOOK_MS = 500;

export type DemoToolsetName = keyof typeof TOOLSETS;

export interface DemoToolsets {
  /** The index that names both toolsets, for `MCP_URL`. */
  readonly indexUrl: string;
  /** The definition file of each toolset. */
  readonly files: Readonly<Record<DemoToolsetName, string>>;
  /** The MCP endpoint of each toolset. */
  readonly urls: Readonly<Record<DemoToolsetName, string>>;
  close(): Promise<void>;
}

/**
 * Serves the demo's two toolsets and an index that names them on loopback HTTP. Saving a definition file (`<toolset>.json` in
 * `definitionsDir`) redeploys that toolset in place. Throws an Error when a definition cannot be used or the port is taken.
 */
export async function startDemoToolsets(options: {
  readonly definitionsDir: string;
  readonly dataDir: string;
  readonly logger: Logger;
  /** 0, the default, takes a free port. */
  readonly port?: number;
}): Promise<DemoToolsets> {
  const deployed = new Map<string, { readonly server: ToolsetServer; readonly file: DefinitionFile }>();
  const viewPath = join(options.dataDir, VIEW_FILE);
  const announceViews = () => {
    for (const { server } of deployed.values()) server.announce('views');
  };
  const closeToolsets = async () => {
    unwatchFile(viewPath, announceViews);
    for (const { file } of deployed.values()) file.close();
    await Promise.all([...deployed.values()].map(({ server }) => server.close()));
  };
  const files = {
    'knowledge-base': join(options.definitionsDir, 'knowledge-base.json'),
    places: join(options.definitionsDir, 'places.json'),
  };

  let baseUrl = '';
  const endpointOf = (name: string) => `${baseUrl}/${name}/mcp`;
  const http = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://127.0.0.1').pathname;
    if (path === '/mcp-index' && request.method === 'GET') {
      const connections = Object.fromEntries(
        [...deployed.keys()].map((name) => [name, { transport: 'streamable_http', url: endpointOf(name) }]),
      );
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ connections }));
      return;
    }
    const toolset = deployed.get(/^\/([\w-]+)\/mcp$/.exec(path)?.[1] ?? '');
    if (toolset === undefined) {
      response.writeHead(404).end();
      return;
    }
    toolset.server.handle(request, response).catch((error: unknown) => {
      // One broken request (for example a body that breaks off) must not end the demo.
      options.logger.debug('demo toolset request failed', { error });
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });

  try {
    for (const [name, createToolset] of Object.entries(TOOLSETS)) {
      const path = files[name as DemoToolsetName];
      const file = openDefinitionFile({ path, logger: options.logger, onChange: () => deployed.get(name)?.server.announce('tools') });
      deployed.set(name, { file, server: createToolset({ name, dataDir: options.dataDir, definition: () => file.current() }) });
    }
    watchFile(viewPath, { interval: LOOK_MS }, announceViews);
    await new Promise<void>((resolve, reject) => {
      http.once('error', reject);
      http.listen(options.port ?? 0, '127.0.0.1', resolve);
    });
  } catch (error) {
    await closeToolsets();
    throw error;
  }
  baseUrl = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;

  return {
    indexUrl: `${baseUrl}/mcp-index`,
    files,
    urls: { 'knowledge-base': endpointOf('knowledge-base'), places: endpointOf('places') },
    async close() {
      await closeToolsets();
      const closed = new Promise((resolve) => http.close(resolve));
      http.closeAllConnections();
      await closed;
    },
  };
}
