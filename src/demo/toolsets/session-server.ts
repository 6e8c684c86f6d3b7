import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { callTool, listedTools } from './tool-call.js';
import type { ToolsetOffer, ToolsetServer } from './toolset-server.js';
import { listedViews, viewContents } from './views.js';

const MOST_SESSIONS = 1_000;

/** A toolset of the 2025 protocol era, as most servers in the field are: sessions, and a GET stream for notifications. */
export function createSessionServer(offer: ToolsetOffer): ToolsetServer {
  const sessions = new Map<string, Server>();
  const transports = new Map<string, StreamableHTTPServerTransport>();

  const end = async (id: string) => {
    const server = sessions.get(id);
    sessions.delete(id);
    transports.delete(id);
    await server?.close();
  };

  return {
    async handle(request, response) {
      const id = request.headers['mcp-session-id'];
      if (id !== undefined) {
        const transport = transports.get(String(id));
        if (transport === undefined) return refuseSession(response);
        return transport.handleRequest(request, response);
      }
      const server = createServer(offer);
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (opened) => {
          sessions.set(opened, server);
          transports.set(opened, transport);
        },
        onsessionclosed: (closed) => end(closed),
      });
      await server.connect(transport);
      await transport.handleRequest(request, response);
      // The transport has refused a first request that was no `initialize`, so no session will ever use this server.
      if (transport.sessionId === undefined) await server.close();
      // Clients that vanish never say goodbye, so the oldest session makes room.
      const oldest = sessions.keys().next().value;
      if (sessions.size > MOST_SESSIONS && oldest !== undefined) await end(oldest);
    },
    announce(what) {
      for (const server of sessions.values()) {
        // A client that is gone cannot be told, and the others still have to be.
        const told = what === 'tools' ? server.sendToolListChanged() : server.sendResourceListChanged();
        told.catch(() => {});
      }
    },
    async close() {
      await Promise.all([...sessions.keys()].map(end));
    },
  };
}

function createServer(offer: ToolsetOffer): Server {
  const capabilities = { tools: { listChanged: true }, resources: { listChanged: true } };
  const server = new Server({ name: offer.name, version: offer.definition().version }, { capabilities });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listedTools(offer.name, offer.definition()) }));
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: listedViews(offer) }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => {
    const contents = viewContents(offer, params.uri);
    if (contents === undefined) throw new McpError(ErrorCode.InvalidParams, `Unknown resource: ${params.uri}`);
    return { contents };
  });
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    const result = callTool({ definition: offer.definition(), dataDir: offer.dataDir, name: params.name, args: params.arguments ?? {} });
    if (result === undefined) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${params.name}`);
    return { ...result };
  });
  return server;
}

function refuseSession(response: ServerResponse): void {
  const error = { jsonrpc: '2.0', error: { code: -32001, message: 'Session not found' }, id: null };
  response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify(error));
}
