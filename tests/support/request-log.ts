import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** One request as a toolset saw it. */
export interface LoggedRequest {
  /** The HTTP method. */
  readonly method: string;
  /** The JSON-RPC method; undefined for GET, DELETE and for answers of the client. */
  readonly rpc: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** The parsed body, or undefined when there was none. */
  readonly body: unknown;
  /** When it arrived, in milliseconds of the monotonic `performance.now()`. */
  readonly at: number;
}

/** What a toolset was asked, in order. */
export class RequestLog {
  readonly requests: LoggedRequest[] = [];

  add(request: IncomingMessage, body: unknown): LoggedRequest {
    const entry = { method: request.method ?? '', rpc: rpcMethodOf(body), headers: request.headers, body, at: performance.now() };
    this.requests.push(entry);
    return entry;
  }

  /** How many requests there were per JSON-RPC method, and per HTTP method for GET and DELETE. A name that never came answers 0. */
  counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { method, rpc } of this.requests) {
      const name = rpc ?? (method === 'POST' ? 'answer' : method);
      counts[name] = (counts[name] ?? 0) + 1;
    }
    return new Proxy(counts, { get: (target, name) => (typeof name === 'string' ? (target[name] ?? 0) : Reflect.get(target, name)) });
  }

  /** Forgets everything counted so far. */
  clear(): void {
    this.requests.length = 0;
  }
}

function rpcMethodOf(body: unknown): string | undefined {
  const method = typeof body === 'object' && body !== null ? (body as { method?: unknown }).method : undefined;
  return typeof method === 'string' ? method : undefined;
}
