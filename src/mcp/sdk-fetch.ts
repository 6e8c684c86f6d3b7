import { type FetchLike, PROTOCOL_VERSION_META_KEY } from '@modelcontextprotocol/client';
import type { JsonObject } from '../core/tool.js';
import { readableResult } from './call-result.js';
import type { Exchanges, RpcRequest } from './exchange.js';
import { tolerantResult } from './handshake-result.js';
import { isObject, isRequestOrNotification, type Reply } from './rpc-message.js';
import type { UserCall } from './wire.js';

/** Carries the number of a call from the SDK's request options to our fetch; it never leaves the process. */
export const CALL_HEADER = 'x-mcp-agent-call';

/** The tool calls in flight on one connection, by the number that stands for them in {@link CALL_HEADER}. */
export class CallRegister {
  readonly #calls = new Map<string, UserCall>();
  #last = 0;

  /** Remembers a call until `forget`; answers its number. */
  enroll(call: UserCall): string {
    this.#last += 1;
    this.#calls.set(String(this.#last), call);
    return String(this.#last);
  }

  find(number: string): UserCall | undefined {
    return this.#calls.get(number);
  }

  forget(number: string): void {
    this.#calls.delete(number);
  }
}

/**
 * What the SDK's transport uses in place of `fetch`. It hands back nothing before the reply is complete, as plain JSON, so
 * that a stream that breaks off is an error at once. A user's headers join only the requests of his own call.
 */
export function sdkFetch(exchanges: Exchanges, calls: CallRegister): FetchLike {
  return async (_url, init) => {
    // There is exactly one notification stream, and it is ours: the SDK is told that the server offers none.
    if ((init?.method ?? 'GET') !== 'POST') return new Response(null, { status: 405 });
    const message: unknown = JSON.parse(String(init?.body));
    const { [CALL_HEADER]: number, ...headers } = Object.fromEntries(new Headers(init?.headers));
    const request = { headers, signal: init?.signal ?? undefined, call: number === undefined ? undefined : calls.find(number) };
    if (!isObject(message) || !isRequestOrNotification(message) || (typeof message.id !== 'number' && typeof message.id !== 'string'))
      return new Response(null, { status: await exchanges.tell(message, request) });
    const rpc = { ...message, id: message.id, method: String(message.method) };
    if (rpc.method === 'server/discover') {
      const outcome = await exchanges.probe(rpc, request);
      return outcome.kind === 'refused' ? new Response(outcome.text, { status: outcome.status }) : jsonResponse(rpc, outcome.reply, null);
    }
    const { reply, session } = await exchanges.ask(rpc, request);
    return jsonResponse(rpc, reply, session);
  };
}

function jsonResponse(request: RpcRequest, reply: Reply, session: string | null): Response {
  const { kind, ...error } = reply;
  const body = { jsonrpc: '2.0', id: request.id, ...(kind === 'result' ? { result: acceptable(request, reply.result) } : { error }) };
  const headers = new Headers({ 'content-type': 'application/json' });
  if (session !== null) headers.set('mcp-session-id', session);
  return new Response(JSON.stringify(body), { status: 200, headers });
}

/** The result in the form that the SDK accepts. */
function acceptable({ method, params }: RpcRequest, result: JsonObject): JsonObject {
  // In the 2026 era the SDK insists on fields about caching; nothing is cached here.
  if (method === 'resources/read') return { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result };
  if (method !== 'tools/call') return tolerantResult(method, result);
  const isModern = isObject(params) && isObject(params._meta) && params._meta[PROTOCOL_VERSION_META_KEY] !== undefined;
  return { ...(isModern && { resultType: 'complete' }), ...readableResult(result) };
}
