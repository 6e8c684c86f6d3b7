import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Gate } from './gate.js';

/** One request to a raw toolset, with everything that an answer may use. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The JSON-RPC method, or the HTTP method where there is no JSON-RPC request. */
  readonly what: string;
  /** The JSON-RPC id; undefined for notifications, GET and DELETE. */
  readonly id: unknown;
  readonly params: Record<string, unknown>;
  /** Aborts when the client closes the connection or the answer has ended. */
  readonly gone: AbortSignal;
  /** Works out the normal answer from what the toolset offers now, and returns the function that sends it. */
  prepare(): Promise<() => unknown>;
}

/** How one request is answered. The answers below cover the usual ones; a test may write its own with `exchange.response`. */
export type Answer = (exchange: Exchange) => unknown;

type Headers = Record<string, string>;
type Body = string | Buffer | object;

const JSON_TYPE = { 'content-type': 'application/json' };
const SSE_TYPE = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' };

/** The normal answer. */
export const pass: Answer = async (exchange) => (await exchange.prepare())();

/** The normal answer, `ms` later. */
export function delayed(ms: number, answer: Answer = pass): Answer {
  return async (exchange) => {
    // A client that goes away meanwhile ends the delay; then there is nobody to answer.
    await sleep(ms, undefined, { signal: exchange.gone }).catch(() => undefined);
    await answer(exchange);
  };
}

/** The answer as it would have been when the request arrived, sent when the gate opens. With `answer`, that one is given then. */
export function held(gate: Gate, answer?: Answer): Answer {
  return async (exchange) => {
    const send = answer === undefined ? await exchange.prepare() : () => answer(exchange);
    await gate.pass();
    await send();
  };
}

/** Any status, headers and body. Objects are sent as JSON. */
export function respond({ status = 200, headers = {}, body = '' }: { status?: number; headers?: Headers; body?: Body }): Answer {
  return ({ response }) => {
    const plain = typeof body === 'string' || Buffer.isBuffer(body);
    response.writeHead(status, { ...(plain ? {} : JSON_TYPE), ...headers }).end(plain ? body : JSON.stringify(body));
  };
}

/** A JSON-RPC error. */
export function rpcError(code: number, message: string, { status = 200, data }: { status?: number; data?: unknown } = {}): Answer {
  return (exchange) =>
    respond({ status, body: { jsonrpc: '2.0', id: exchange.id ?? null, error: { code, message, ...(data !== undefined && { data }) } } })(
      exchange,
    );
}

/** A JSON-RPC result, sent as it is: nothing is added, also not what an era asks for. */
export function rpcResult(result: unknown, { as = 'json', id }: { as?: 'json' | 'sse'; id?: unknown } = {}): Answer {
  return (exchange) => {
    const message = { jsonrpc: '2.0', id: id === undefined ? exchange.id : id, result };
    return as === 'sse' ? sse([message])(exchange) : respond({ body: message })(exchange);
  };
}

/** The text of one SSE event; objects are JSON messages, strings are taken as they are (`: comment\n\n`). */
export function eventText(event: string | object): string {
  return typeof event === 'string' ? event : `event: message\ndata: ${JSON.stringify(event)}\n\n`;
}

export interface SseOptions {
  status?: number;
  headers?: Headers;
  /** Sends this many bytes at a time, each as a chunk of its own; 1 is byte by byte. All at once by default. */
  chunkBytes?: number;
  /** What follows the last event: an orderly end, a reset, or nothing (the stream stays open). */
  end?: 'fin' | 'rst' | 'open';
}

/** An SSE body. An event may be a function of the exchange, for example to use its id. */
export function sse(events: readonly (string | object | ((exchange: Exchange) => string | object))[], options: SseOptions = {}): Answer {
  return async (exchange) => {
    const { response, gone } = exchange;
    response.writeHead(options.status ?? 200, { ...SSE_TYPE, ...options.headers });
    response.flushHeaders();
    const text = events.map((event) => eventText(typeof event === 'function' ? event(exchange) : event)).join('');
    const bytes = Buffer.from(text, 'utf8');
    const step = options.chunkBytes ?? Math.max(1, bytes.length);
    for (let at = 0; at < bytes.length && !gone.aborted; at += step) {
      response.write(bytes.subarray(at, at + step));
      // One turn per chunk, so that each one is a write of its own on the socket.
      if (step < bytes.length) await new Promise((resolve) => setImmediate(resolve));
    }
    if (options.end === 'rst') await destroyAfterFlush(exchange);
    else if (options.end !== 'open') response.end();
  };
}

/** The JSON-RPC reply to this request as an SSE event, for use in `sse`. */
export function reply(result: unknown): (exchange: Exchange) => object {
  return ({ id }) => ({ jsonrpc: '2.0', id, result });
}

/** Never answers; the request stays open until the client or the toolset closes it. */
export const hang: Answer = () => undefined;

/** Sends the headers and then nothing. */
export function hangAfterHeaders(headers: Headers = JSON_TYPE, status = 200): Answer {
  return ({ response }) => {
    response.writeHead(status, headers);
    response.flushHeaders();
  };
}

/** Sends a body one byte at a time, `everyMs` apart, and repeats its last byte for ever. */
export function trickle(text: string, { everyMs = 1000, headers = JSON_TYPE }: { everyMs?: number; headers?: Headers } = {}): Answer {
  return async ({ response, gone }) => {
    response.writeHead(200, headers);
    response.flushHeaders();
    const bytes = Buffer.from(text, 'utf8');
    for (let at = 0; !gone.aborted; at++) {
      const position = Math.min(at, bytes.length - 1);
      response.write(bytes.subarray(position, position + 1));
      // The wait ends early when the client is gone, and with it the loop.
      await sleep(everyMs, undefined, { signal: gone }).catch(() => undefined);
    }
  };
}

/** Resets the connection before anything was answered. */
export const destroy: Answer = ({ request }) => {
  request.socket.resetAndDestroy();
};

/** Announces a longer body than it sends, and resets the connection in the middle of it. */
export function destroyMidway(body = '{"jsonrpc":"2.0",', headers: Headers = JSON_TYPE): Answer {
  return async (exchange) => {
    exchange.response.writeHead(200, { ...headers, 'content-length': String(Buffer.byteLength(body) + 100) });
    exchange.response.write(body);
    await destroyAfterFlush(exchange);
  };
}

/** Everything that was written has to reach the other side before the reset, or it may be dropped with the connection. */
async function destroyAfterFlush({ request, response }: Exchange): Promise<void> {
  await new Promise((resolve) => response.write('', resolve));
  await sleep(20);
  request.socket.resetAndDestroy();
}
