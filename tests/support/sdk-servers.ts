import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { Server as LegacyServer } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  type ServerNotification,
} from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler, InMemoryServerEventBus, Server as ModernServer, ProtocolError } from '@modelcontextprotocol/server';
import { type CallContext, listedResources, type Offer, resourceContents, runTool, wireTool } from './toolset-parts.js';

/** One running server of one protocol era. */
export interface EraServer {
  handle(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void>;
  /** Tells every client that listens that tools (or resources) changed. */
  notify(what: 'tools' | 'resources'): void;
  /** Sessions that the server holds. */
  sessions(): number;
  /** Ends sessions and streams in order, as a server does that shuts down. */
  close(): Promise<void>;
}

const CAPABILITIES = { tools: { listChanged: true }, resources: { listChanged: true } };
const INVALID_PARAMS = -32602;

/** A 2025-era server on the SDK's low-level `Server`, which hands out tool definitions verbatim. */
function legacyServer(offer: Offer): LegacyServer {
  const server = new LegacyServer({ name: offer.name, version: '1.0.0' }, { capabilities: CAPABILITIES, instructions: offer.instructions });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: offer.tools.map(wireTool) }));
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: listedResources(offer) }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => {
    const contents = resourceContents(offer, params.uri);
    if (contents === undefined) throw new McpError(ErrorCode.InvalidParams, `Unknown resource: ${params.uri}`);
    return { contents };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const token = params._meta?.progressToken;
    const context: CallContext = {
      headers: extra.requestInfo?.headers ?? {},
      signal: extra.signal,
      notify: (method, values) => extra.sendNotification({ method, ...(values && { params: values }) } as ServerNotification),
      progress: async (progress, total) => {
        if (token === undefined) return;
        await extra.sendNotification({ method: 'notifications/progress', params: { progressToken: token, progress, total } });
      },
    };
    const result = await runTool(offer, params.name, params.arguments ?? {}, context);
    if (result === undefined) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${params.name}`);
    return { ...result };
  });
  return server;
}

/** 2025-era with sessions and a GET stream. */
export function openLegacy(offer: Offer): EraServer {
  const sessions = new Map<string, { server: LegacyServer; transport: StreamableHTTPServerTransport }>();
  return {
    async handle(request, response, body) {
      const id = request.headers['mcp-session-id'];
      if (id !== undefined) {
        const session = sessions.get(String(id));
        if (session !== undefined) return session.transport.handleRequest(request, response, body);
        return refuse(response, { status: 404, code: -32001, message: 'Session not found' });
      }
      const server = legacyServer(offer);
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (opened) => {
          sessions.set(opened, { server, transport });
        },
        onsessionclosed: (closed) => {
          sessions.delete(closed);
        },
      });
      await server.connect(transport);
      await transport.handleRequest(request, response, body);
      // A request that was no `initialize` was refused by the transport, and nobody will ask this one again.
      if (transport.sessionId === undefined) await server.close();
    },
    notify(what) {
      for (const { server } of sessions.values()) {
        // A session whose client is gone cannot be told; the others still have to be.
        void server.notification({ method: `notifications/${what}/list_changed` }).catch(() => undefined);
      }
    },
    sessions: () => sessions.size,
    async close() {
      const open = [...sessions.values()];
      sessions.clear();
      for (const { server } of open) await server.close();
    },
  };
}

/** 2025-era without sessions: every request is served by a server of its own, and GET answers 405, so nothing can be pushed. */
export function openStateless(offer: Offer): EraServer {
  return {
    async handle(request, response, body) {
      if (request.method !== 'POST') return refuse(response, { status: 405, code: -32000, message: 'Method not allowed.' });
      const server = legacyServer(offer);
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
      response.on('close', () => void server.close());
      await server.connect(transport);
      await transport.handleRequest(request, response, body);
    },
    notify: () => undefined,
    sessions: () => 0,
    close: async () => undefined,
  };
}

function modernServer(offer: Offer, headers: IncomingMessage['headers']): ModernServer {
  const server = new ModernServer({ name: offer.name, version: '1.0.0' }, { capabilities: CAPABILITIES, instructions: offer.instructions });
  server.setRequestHandler('tools/list', () => ({ tools: offer.tools.map(wireTool) }) as never);
  server.setRequestHandler('resources/list', () => ({ resources: listedResources(offer) }) as never);
  server.setRequestHandler('resources/read', ({ params }) => {
    const contents = resourceContents(offer, params.uri);
    if (contents === undefined) throw new ProtocolError(INVALID_PARAMS, `Unknown resource: ${params.uri}`);
    return { contents } as never;
  });
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const token = mcpReq._meta?.progressToken;
    const context: CallContext = {
      headers,
      signal: mcpReq.signal,
      notify: (method, values) => mcpReq.notify({ method, ...(values && { params: values }) }),
      progress: async (progress, total) => {
        if (token === undefined) return;
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken: token, progress, total } });
      },
    };
    const result = await runTool(offer, params.name, params.arguments ?? {}, context);
    if (result === undefined) throw new ProtocolError(INVALID_PARAMS, `Unknown tool: ${params.name}`);
    return result as never;
  });
  return server;
}

/** 2026-07-28, alone or together with what `createMcpHandler` offers to 2025-era clients. */
export function openModern(offer: Offer, legacy: 'reject' | 'stateless'): EraServer {
  const bus = new InMemoryServerEventBus();
  const handler = createMcpHandler(({ requestInfo }) => modernServer(offer, Object.fromEntries(requestInfo?.headers ?? [])), {
    legacy,
    bus,
  });
  const node = toNodeHandler(handler);
  return {
    handle: (request, response, body) => node(request, response as never, body),
    notify(what) {
      if (what === 'tools') handler.notify.toolsChanged();
      else handler.notify.resourcesChanged();
    },
    sessions: () => 0,
    close: () => handler.close(),
  };
}

function refuse(response: ServerResponse, { status, code, message }: { status: number; code: number; message: string }): void {
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null }));
}
