import { request as httpRequest, type IncomingMessage, Agent as NodeAgent } from 'node:http';

/** What a request to one server carries: its address, its protocol era, and the session where it gave one. */
export interface Peer {
  readonly url: string;
  era: 'legacy' | 'modern';
  session: string;
}

const VERSION = { legacy: '2025-11-25', modern: '2026-07-28' } as const;
const CLIENT = { name: 'floor', version: '1.0.0' };
const META = 'io.modelcontextprotocol';

const agent = new NodeAgent({ keepAlive: true });
let lastId = 0;

/** Sends one JSON-RPC request and returns the answer, whose body is still open. */
export function ask(peer: Peer, { method, params = {} }: { method: string; params?: object }): Promise<IncomingMessage> {
  const _meta = {
    [`${META}/protocolVersion`]: VERSION.modern,
    [`${META}/clientInfo`]: CLIENT,
    [`${META}/clientCapabilities`]: {},
  };
  const sent = peer.era === 'modern' ? { ...params, _meta } : params;
  return post(peer, { jsonrpc: '2.0', id: ++lastId, method, params: sent });
}

/** Opens an exchange as the specification asks: the newer protocol first, and the older one's handshake where that is refused. */
export async function greet(peer: Peer): Promise<void> {
  peer.era = 'modern';
  peer.session = '';
  const discovered = await ask(peer, { method: 'server/discover' });
  await textOf(discovered);
  if (discovered.statusCode === 200) return;
  peer.era = 'legacy';
  const params = { protocolVersion: VERSION.legacy, capabilities: {}, clientInfo: CLIENT };
  const answer = await ask(peer, { method: 'initialize', params });
  peer.session = String(answer.headers['mcp-session-id'] ?? '');
  await textOf(answer);
  await textOf(await post(peer, { jsonrpc: '2.0', method: 'notifications/initialized' }));
}

/** Opens the stream on which the server sends its notifications. */
export function subscribe(peer: Peer): Promise<IncomingMessage> {
  if (peer.era === 'modern') return ask(peer, { method: 'subscriptions/listen', params: { notifications: { toolsListChanged: true } } });
  return send(peer, { method: 'GET', headers: { accept: 'text/event-stream' } });
}

export async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function post(peer: Peer, message: object): Promise<IncomingMessage> {
  const body = JSON.stringify(message);
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    accept: 'application/json, text/event-stream',
  };
  return send(peer, { method: 'POST', headers, body });
}

function send(
  { url, era, session }: Peer,
  { method, headers, body }: { method: string; headers: Record<string, string>; body?: string },
): Promise<IncomingMessage> {
  const known = {
    ...(session !== '' && { 'mcp-session-id': session }),
    ...((session !== '' || era === 'modern') && { 'mcp-protocol-version': VERSION[era] }),
  };
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, agent, headers: { ...headers, ...known } }, resolve);
    request.on('error', reject);
    request.end(body);
  });
}
