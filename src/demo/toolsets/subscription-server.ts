import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, ProtocolError, Server } from '@modelcontextprotocol/server';
import { callTool, listedTools } from './tool-call.js';
import type { ToolsetOffer, ToolsetServer } from './toolset-server.js';
import { listedViews, viewContents } from './views.js';

const INVALID_PARAMS = -32602;

/** A toolset of the 2026-07-28 protocol: no sessions, and subscriptions for notifications. */
export function createSubscriptionServer(offer: ToolsetOffer): ToolsetServer {
  const handler = createMcpHandler(() => createServer(offer), { legacy: 'reject' });
  const handle = toNodeHandler(handler);
  return {
    handle: (request, response) => handle(request, response),
    announce: (what) => (what === 'tools' ? handler.notify.toolsChanged() : handler.notify.resourcesChanged()),
    close: () => handler.close(),
  };
}

function createServer(offer: ToolsetOffer): Server {
  const capabilities = { tools: { listChanged: true }, resources: { listChanged: true } };
  const server = new Server({ name: offer.name, version: offer.definition().version }, { capabilities });
  server.setRequestHandler('tools/list', () => ({ tools: listedTools(offer.name, offer.definition()) }));
  server.setRequestHandler('resources/list', () => ({ resources: listedViews(offer) }));
  server.setRequestHandler('resources/read', ({ params }) => {
    const contents = viewContents(offer, params.uri);
    if (contents === undefined) throw new ProtocolError(INVALID_PARAMS, `Unknown resource: ${params.uri}`);
    return { contents };
  });
  server.setRequestHandler('tools/call', ({ params }) => {
    const result = callTool({ definition: offer.definition(), dataDir: offer.dataDir, name: params.name, args: params.arguments ?? {} });
    if (result === undefined) throw new ProtocolError(INVALID_PARAMS, `Unknown tool: ${params.name}`);
    return { ...result };
  });
  return server;
}
