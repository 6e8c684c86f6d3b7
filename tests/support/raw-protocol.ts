import { randomUUID } from 'node:crypto';
import { type Answer, type Exchange, eventText, respond, rpcError } from './raw-answers.js';
import { type RawState, type RawStream, resourceListOf } from './raw-state.js';

export const MODERN_VERSION = '2026-07-28';
const LEGACY_VERSIONS = ['2025-03-26', '2025-06-18', '2025-11-25'];
const META = 'io.modelcontextprotocol';

/** Decides how a request is answered that no script took. Everything that depends on the offer is read here, not when the answer is sent. */
export function normalAnswer(state: RawState, exchange: Exchange): Answer | Promise<Answer> {
  const { what, request } = exchange;
  if (request.method === 'GET') return state.era === 'legacy' ? legacyStream(state, exchange) : methodNotAllowed;
  if (request.method === 'DELETE') return state.era === 'legacy' ? deleteSession(state, exchange) : methodNotAllowed;
  if (request.method !== 'POST') return methodNotAllowed;
  if (what === 'unreadable') return rpcError(-32700, 'Parse error', { status: 400 });
  const modern = request.headers['mcp-protocol-version'] === MODERN_VERSION || versionInMeta(exchange) !== undefined;
  if (state.era === 'modern' || (state.era === 'both' && modern)) return modernAnswer(state, exchange);
  if (modern) return rpcError(-32000, 'Bad Request: Unsupported protocol version', { status: 400 });
  if (what === 'initialize') return initialize(state, exchange);
  const refused = refusedSession(state, exchange) ?? refusedVersion(state, exchange);
  if (refused !== undefined) return refused;
  if (exchange.id === undefined || what === 'answer') {
    return respond({ status: what === 'notifications/initialized' ? state.initializedStatus : 202 });
  }
  return commonAnswer(state, exchange, (result) => result);
}

function initialize(state: RawState, { id, params }: Exchange): Answer {
  const wanted = String(params.protocolVersion);
  const version = state.protocolVersion ?? (LEGACY_VERSIONS.includes(wanted) ? wanted : '2025-11-25');
  const session = state.era === 'legacy' ? randomUUID() : undefined;
  if (session !== undefined) state.sessions.add(session);
  const result = {
    protocolVersion: version,
    capabilities: state.capabilities,
    serverInfo: state.serverInfo,
    ...(state.instructions !== undefined && { instructions: state.instructions }),
  };
  return respond({ headers: session === undefined ? {} : { 'mcp-session-id': session }, body: { jsonrpc: '2.0', id, result } });
}

function refusedSession(state: RawState, { request }: Exchange): Answer | undefined {
  if (state.era !== 'legacy') return undefined;
  const session = request.headers['mcp-session-id'];
  if (session === undefined) return rpcError(-32000, 'Bad Request: Mcp-Session-Id header is required', { status: 400 });
  if (!state.sessions.has(String(session))) return rpcError(-32001, 'Session not found', { status: 404 });
  return undefined;
}

function refusedVersion(state: RawState, { request }: Exchange): Answer | undefined {
  if (!state.strictVersion || request.headers['mcp-protocol-version'] === state.protocolVersion) return undefined;
  return rpcError(-32000, `Bad Request: Unsupported protocol version (supported versions: ${state.protocolVersion})`, { status: 400 });
}

function legacyStream(state: RawState, exchange: Exchange): Answer {
  const refused = refusedSession(state, exchange) ?? refusedVersion(state, exchange);
  if (refused !== undefined) return refused;
  if (state.getStatus !== 200) return respond({ status: state.getStatus });
  return () => openStream(state, exchange, undefined);
}

function deleteSession(state: RawState, exchange: Exchange): Answer {
  const refused = refusedSession(state, exchange);
  if (refused !== undefined) return refused;
  state.sessions.delete(String(exchange.request.headers['mcp-session-id']));
  return respond({ status: 200 });
}

function modernAnswer(state: RawState, exchange: Exchange): Answer | Promise<Answer> {
  const { what, id, params } = exchange;
  const requested = versionInMeta(exchange);
  if (what === 'initialize' || requested === undefined || !state.supportedVersions.includes(requested)) {
    const version = requested ?? params.protocolVersion ?? 'unknown';
    const data = { supported: state.supportedVersions, requested: version };
    return rpcError(-32022, `Unsupported protocol version: ${String(version)}`, { status: 400, data });
  }
  const wrap = (result: Record<string, unknown>) => ({
    resultType: 'complete',
    ...result,
    _meta: { [`${META}/serverInfo`]: state.serverInfo, ...(result._meta as object | undefined) },
  });
  const cached = (result: Record<string, unknown>) => wrap(what === 'tools/call' ? result : { ttlMs: 0, cacheScope: 'private', ...result });
  if (id === undefined) return respond({ status: 202 });
  if (what === 'server/discover') {
    const result = cached({
      supportedVersions: state.supportedVersions,
      capabilities: state.capabilities,
      ...(state.instructions !== undefined && { instructions: state.instructions }),
    });
    return respond({ body: { jsonrpc: '2.0', id, result } });
  }
  if (what === 'subscriptions/listen') return () => listen(state, exchange);
  return commonAnswer(state, exchange, cached);
}

/** `subscriptions/listen`: acknowledges what is honoured and keeps the stream open. A filter of which nothing is honoured ends at once, in order. */
function listen(state: RawState, exchange: Exchange): void {
  const wanted = (exchange.params.notifications ?? {}) as Record<string, unknown>;
  const honoured = state.honour?.(wanted) ?? honouredOf(state, wanted);
  const stream = openStream(state, exchange, { id: exchange.id, honoured });
  stream.send({ method: 'notifications/subscriptions/acknowledged', params: { notifications: honoured } });
  if (Object.keys(honoured).length === 0 && state.honour === undefined) stream.finish();
}

function honouredOf(state: RawState, wanted: Record<string, unknown>): Record<string, unknown> {
  const capabilities = state.capabilities as Record<string, { listChanged?: boolean } | undefined>;
  return {
    ...(wanted.toolsListChanged === true && capabilities.tools?.listChanged && { toolsListChanged: true }),
    ...(wanted.resourcesListChanged === true && capabilities.resources?.listChanged && { resourcesListChanged: true }),
  };
}

function openStream(state: RawState, { request, response, gone }: Exchange, subscription: RawStream['subscription']): RawStream {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' });
  if (state.streamHeaders === 'at once') response.flushHeaders();
  const beat = state.keepAliveMs > 0 ? setInterval(() => response.write(': keepalive\n\n'), state.keepAliveMs) : undefined;
  const stream: RawStream = {
    subscription,
    write: (text) => void response.write(text),
    send(note) {
      const params = subscription === undefined ? note.params : { ...note.params, _meta: { [`${META}/subscriptionId`]: subscription.id } };
      response.write(eventText({ jsonrpc: '2.0', method: note.method, ...(params !== undefined && { params }) }));
    },
    finish() {
      if (subscription !== undefined) {
        const _meta = { [`${META}/subscriptionId`]: subscription.id, [`${META}/serverInfo`]: state.serverInfo };
        response.write(eventText({ jsonrpc: '2.0', id: subscription.id, result: { resultType: 'complete', _meta } }));
      }
      response.end();
    },
    cut(how) {
      if (how === 'fin') response.end();
      else request.socket.resetAndDestroy();
    },
  };
  state.streams.add(stream);
  gone.addEventListener('abort', () => {
    clearInterval(beat);
    state.streams.delete(stream);
  });
  return stream;
}

/** What both eras answer in the same way; `wrap` adds what the era asks for in a result. */
async function commonAnswer(
  state: RawState,
  exchange: Exchange,
  wrap: (result: Record<string, unknown>) => Record<string, unknown>,
): Promise<Answer> {
  const { what, id, params } = exchange;
  const send = (result: Record<string, unknown>): Answer => {
    const message = { jsonrpc: '2.0', id, result: wrap(result) };
    if (what !== 'tools/list' || state.listAs === 'json') return respond({ body: message });
    return respond({ headers: { 'content-type': 'text/event-stream' }, body: eventText(message) });
  };
  switch (what) {
    case 'ping':
      return send({});
    case 'tools/list':
      return send(pageOf(state, params.cursor));
    case 'tools/call':
      return callAnswer(state, exchange, send);
    case 'resources/list':
      return send({ resources: resourceListOf(state) });
    case 'resources/read': {
      const found = state.resources.find((resource) => resource.uri === params.uri);
      return found === undefined ? rpcError(-32602, `Unknown resource: ${String(params.uri)}`) : send({ contents: [found] });
    }
    default:
      return rpcError(-32601, `Method not found: ${what}`);
  }
}

function pageOf(state: RawState, cursor: unknown): Record<string, unknown> {
  const size = state.pageSize;
  if (size === 0) return { tools: [...state.tools] };
  const start = cursor === undefined ? 0 : Number(String(cursor).replace(/^after /, ''));
  const end = start + size;
  return { tools: state.tools.slice(start, end), ...(end < state.tools.length && { nextCursor: `after ${end}` }) };
}

async function callAnswer(state: RawState, exchange: Exchange, send: (result: Record<string, unknown>) => Answer): Promise<Answer> {
  const name = String(exchange.params.name);
  const args = (exchange.params.arguments ?? {}) as Record<string, unknown>;
  const known = state.tools.some((tool) => typeof tool === 'object' && tool !== null && (tool as { name?: unknown }).name === name);
  const script = state.calls.get(name);
  if (!known && script === undefined) return rpcError(-32602, `Unknown tool: ${name}`);
  state.received.push({ tool: name, args, headers: exchange.request.headers });
  if (script === undefined) return send({ content: [{ type: 'text', text: JSON.stringify(args) }] });
  const outcome = await script(args, exchange);
  return typeof outcome === 'function' ? outcome : send(outcome);
}

function versionInMeta({ params }: Exchange): string | undefined {
  const meta = params._meta as Record<string, unknown> | undefined;
  const version = meta?.[`${META}/protocolVersion`];
  return typeof version === 'string' ? version : undefined;
}

const methodNotAllowed: Answer = rpcError(-32000, 'Method not allowed.', { status: 405 });
