import type { JsonObject } from '../core/tool.js';

/** What a server answered to one JSON-RPC request. */
export type Reply =
  | { readonly kind: 'result'; readonly result: JsonObject }
  | { readonly kind: 'error'; readonly code: number; readonly message: string; readonly data?: unknown };

/** True for what JSON calls an object; arrays and null are none. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** True for a JSON-RPC message that wants to be answered or heard, as opposed to a reply. */
export function isRequestOrNotification(message: JsonObject): boolean {
  return typeof message.method === 'string';
}

/**
 * Reads a message as the reply to the request with this id. Undefined when it is anything else: no JSON-RPC 2.0, a batch, another id, neither
 * or both of `result` and `error`. An `error: null` next to a result is tolerated, because some servers always write both fields.
 */
export function replyTo(id: string | number, message: unknown): Reply | undefined {
  if (!isObject(message) || message.jsonrpc !== '2.0' || message.id !== id || isRequestOrNotification(message)) return undefined;
  const { result, error } = message;
  if (error === undefined || error === null) return isObject(result) ? { kind: 'result', result } : undefined;
  if (result !== undefined && result !== null) return undefined;
  if (!isObject(error) || typeof error.code !== 'number') return undefined;
  return {
    kind: 'error',
    code: error.code,
    message: typeof error.message === 'string' ? error.message : '',
    ...(error.data !== undefined && { data: error.data }),
  };
}

/** The JSON-RPC error that a body holds, if it holds one, whatever its id. */
export function rpcErrorIn(text: string): { readonly code: number; readonly message: string; readonly data?: unknown } | undefined {
  try {
    const body: unknown = JSON.parse(text);
    if (!isObject(body) || !isObject(body.error) || typeof body.error.code !== 'number') return undefined;
    const { code, message, data } = body.error;
    return { code, message: typeof message === 'string' ? message : '', data };
  } catch {
    // No JSON means no JSON-RPC error; the HTTP status says what there is to say.
    return undefined;
  }
}
