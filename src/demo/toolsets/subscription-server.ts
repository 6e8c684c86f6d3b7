import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, ProtocolError, Server } from '@modelcontextprotocol/server';
import { callTool, listedTools } from './tool-call.js';
import type { ToolsetOffer, ToolsetServer } from './toolset-server.js';

const INVALID_PARAMS = -32602;

/** A toolset of the 2026-07-28 protocol: no sessions, and subscriptions for notifications. */
export function createSubscriptionServer(offer: ToolsetOffer): ToolsetServer {
  const handler = createMcpHandler(() => createServer(offer), { legacy: 'reject' });
  const handle = toNodeHandler(handler);
  return {
    handle: (request, response) => handle(request, response),
    announce: () => handler.notify.toolsChanged(),
    close: () => handler.close(),
  };
}

function createServer(offer: ToolsetOffer): Server {
  const server = new Server({ name: offer.name, version: offer.definition().version }, { capabilities: { tools: { listChanged: true } } });
  server.setRequestHandler('tools/list', () => ({ tools: listedTools(offer.definition()) }));
  server.setRequestHandler('tools/call', ({ params }) => {
    const result = callTool({ definition: offer.definition(), dataDir: offer.dataDir, name: params.name, args: params.arguments ?? {} });
    if (result === undefined) throw new ProtocolError(INVALID_PARAMS, `Unknown tool: ${params.name}`);
    return { ...result };
  });
  return server;
}
