import { onCleanup } from './cleanup.js';
import { bodyOf, serveLoopback } from './loopback-server.js';
import { type Answer, type Exchange, pass, respond } from './raw-answers.js';
import { type LoggedRequest, RequestLog } from './request-log.js';

/** One entry of an index; a bare string is the URL of a Streamable HTTP toolset. */
export type IndexEntry = string | Record<string, unknown>;

export interface IndexServer {
  /** For `MCP_URL`. */
  readonly url: string;
  readonly port: number;
  /** How often the index was asked for, whatever the answer was. */
  reads(): number;
  readonly requests: readonly LoggedRequest[];
  /** Replaces the connections; `extra` are further fields of the document, for example `toolsets`. */
  set(connections: Readonly<Record<string, IndexEntry>>, extra?: Record<string, unknown>): void;
  /** Answers by a script instead of the document, until it is called again with `pass` or nothing. */
  answer(script?: Answer): void;
  close(): Promise<void>;
}

/** Starts an index that names these toolsets. It ends with the test. */
export async function startIndex(connections: Readonly<Record<string, IndexEntry>> = {}, port = 0): Promise<IndexServer> {
  const log = new RequestLog();
  let document = documentOf(connections);
  let script: Answer = pass;
  const http = await serveLoopback(async (request, response) => {
    const text = await bodyOf(request);
    log.add(request, text === '' ? undefined : text);
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const exchange: Exchange = {
      request,
      response,
      what: request.method ?? '',
      id: undefined,
      params: {},
      gone: gone.signal,
      async prepare() {
        const send = request.method === 'GET' ? respond({ body: document }) : respond({ status: 405 });
        return () => send(exchange);
      },
    };
    await script(exchange);
  }, port);
  onCleanup(() => http.close());
  return {
    url: `${http.origin}/index.json`,
    port: http.port,
    reads: () => log.requests.length,
    requests: log.requests,
    set(next, extra) {
      document = documentOf(next, extra);
    },
    answer(next = pass) {
      script = next;
    },
    close: () => http.close(),
  };
}

function documentOf(connections: Readonly<Record<string, IndexEntry>>, extra: Record<string, unknown> = {}): Record<string, unknown> {
  const entries = Object.entries(connections).map(([name, entry]) => [
    name,
    typeof entry === 'string' ? { transport: 'streamable_http', url: entry } : entry,
  ]);
  return { connections: Object.fromEntries(entries), ...extra };
}
