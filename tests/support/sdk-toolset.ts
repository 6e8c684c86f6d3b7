import { onCleanup } from './cleanup.js';
import { bodyOf, type LoopbackServer, serveLoopback } from './loopback-server.js';
import { type LoggedRequest, RequestLog } from './request-log.js';
import { type EraServer, openLegacy, openModern, openStateless } from './sdk-servers.js';
import type { Offer, ReceivedCall, TestResource, TestTool } from './toolset-parts.js';
import { until } from './until.js';

/**
 * `legacy`: 2025-era with sessions and a GET stream. `stateless`: the same without sessions, which cannot push. `modern`:
 * 2026-07-28 only. `both`: 2026-07-28, and stateless for 2025-era clients.
 */
export type SdkEra = 'legacy' | 'stateless' | 'modern' | 'both';

export interface SdkToolset {
  readonly url: string;
  readonly port: number;
  /** Replaces the tools; with `notify` (the default) every listening client is told. */
  setTools(tools: readonly TestTool[], options?: { notify?: boolean }): void;
  setResources(resources: readonly TestResource[], options?: { notify?: boolean }): void;
  /** Says that tools (or resources) changed, whether they did or not. */
  notify(what?: 'tools' | 'resources'): void;
  /** Requests so far per JSON-RPC method, and `GET` and `DELETE`. */
  counts(): Record<string, number>;
  readonly requests: readonly LoggedRequest[];
  /** Every tool call that reached a tool of this toolset. */
  readonly calls: readonly ReceivedCall[];
  /** Sessions that the server holds (`legacy` only). */
  sessions(): number;
  /** GET and `subscriptions/listen` streams that are open. */
  streams(): number;
  /** Connections that are open. */
  sockets(): number;
  /** Dies as a killed process does: all connections are reset and the port is closed. */
  kill(): Promise<void>;
  /** Ends in order, as a process does that was asked to. */
  stop(): Promise<void>;
  /** The same as `kill`. */
  close(): Promise<void>;
  /** Starts a new server on the same port, as a redeploy does; one that still runs is stopped first. Counters and calls go on. */
  restart(changes?: { era?: SdkEra; tools?: readonly TestTool[]; instructions?: string }): Promise<void>;
}

export interface SdkToolsetOptions {
  era: SdkEra;
  name?: string;
  tools?: readonly TestTool[];
  resources?: readonly TestResource[];
  instructions?: string;
  /** 0, the default, takes a free one. */
  port?: number;
}

/** Starts a toolset on the MCP SDK's own servers. It ends with the test. */
export async function startSdkToolset(options: SdkToolsetOptions): Promise<SdkToolset> {
  const offer: Offer = {
    name: options.name ?? 'toolset',
    tools: options.tools ?? [],
    resources: options.resources ?? [],
    instructions: options.instructions,
    calls: [],
  };
  const log = new RequestLog();
  let era = options.era;
  let server: EraServer;
  let http: LoopbackServer;
  let running = false;
  let streams = 0;

  const start = async (port: number) => {
    const started = openEra(era, offer);
    server = started;
    http = await serveLoopback(async (request, response) => {
      const text = await bodyOf(request);
      const body: unknown = text === '' ? undefined : JSON.parse(text);
      const { rpc } = log.add(request, body);
      if (request.method === 'GET' || rpc === 'subscriptions/listen') {
        streams++;
        response.on('close', () => streams--);
      }
      await started.handle(request, response, body);
    }, port);
    running = true;
    return http.port;
  };
  const kill = async () => {
    if (!running) return;
    running = false;
    await http.close('rst');
    await server.close();
  };
  const stop = async () => {
    if (!running) return;
    running = false;
    await server.close();
    await until(() => http.active() === 0, { timeoutMs: 1000, what: 'open answers to end' }).catch(() => {
      // A call that does not end in time is cut off, as a process that exits does.
    });
    await http.close('fin');
  };

  const port = await start(options.port ?? 0);
  onCleanup(kill);
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    port,
    setTools(tools, { notify = true } = {}) {
      offer.tools = tools;
      if (notify) server.notify('tools');
    },
    setResources(resources, { notify = true } = {}) {
      offer.resources = resources;
      if (notify) server.notify('resources');
    },
    notify: (what = 'tools') => server.notify(what),
    counts: () => log.counts(),
    requests: log.requests,
    calls: offer.calls,
    sessions: () => server.sessions(),
    streams: () => streams,
    sockets: () => http.sockets(),
    kill,
    stop,
    close: kill,
    async restart(changes = {}) {
      await stop();
      era = changes.era ?? era;
      offer.tools = changes.tools ?? offer.tools;
      offer.instructions = changes.instructions ?? offer.instructions;
      await start(port);
    },
  };
}

function openEra(era: SdkEra, offer: Offer): EraServer {
  switch (era) {
    case 'legacy':
      return openLegacy(offer);
    case 'stateless':
      return openStateless(offer);
    case 'modern':
      return openModern(offer, 'reject');
    case 'both':
      return openModern(offer, 'stateless');
  }
}
