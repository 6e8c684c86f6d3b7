import type { IncomingMessage, ServerResponse } from 'node:http';
import { onCleanup } from './cleanup.js';
import { bodyOf, serveLoopback } from './loopback-server.js';
import { type Answer, type Exchange, pass } from './raw-answers.js';
import { MODERN_VERSION, normalAnswer } from './raw-protocol.js';
import type { Note, RawSettings, RawState } from './raw-state.js';
import { type LoggedRequest, RequestLog } from './request-log.js';

/** A toolset at the level of bytes. Its settings are plain fields that a test may change at any time. */
export interface RawToolset extends RawState {
  readonly url: string;
  readonly port: number;
  readonly requests: LoggedRequest[];
  /** Requests so far per JSON-RPC method, and per HTTP method where there is none; a name that never came answers 0. */
  counts(): Record<string, number>;
  /**
   * Answers requests of this kind (a JSON-RPC method, `GET`, `DELETE`, or `*`) by `answer` instead of normally: the next
   * `times` ones, or all until the returned function is called. Limited scripts are used first, in the order in which they
   * were given; among the others the newest counts.
   */
  on(what: string, answer: Answer, options?: { times?: number }): () => void;
  /** Answers the next request of this kind by `answer`, and with several answers the following ones by those. */
  once(what: string, ...answers: Answer[]): void;
  /** Sends a notification on all open streams, by default `notifications/tools/list_changed`. */
  push(note?: Note): void;
  /** Ends all open streams; `graceful` sends the result of `subscriptions/listen` first. */
  cutStreams(how: 'fin' | 'rst' | 'graceful'): void;
  /** Forgets all sessions, as a restarted server does. Open streams stay open. */
  forgetSessions(): void;
  /** Connections that are open. */
  openSockets(): number;
  /** Connections accepted so far. */
  acceptedSockets(): number;
  /** Resets all connections; the port stays open. */
  resetSockets(): void;
  /** Closes the port and resets all connections. */
  close(): Promise<void>;
}

interface Script {
  readonly what: string;
  readonly answer: Answer;
  left: number;
}

/** Starts a raw toolset, by default a 2025-era one with sessions and no tools. It ends with the test. */
export async function startRawToolset(options: Partial<RawSettings> & { port?: number } = {}): Promise<RawToolset> {
  const { port: wantedPort = 0, ...settings } = options;
  const state: RawState = {
    era: 'legacy',
    tools: [],
    resources: [],
    pageSize: 0,
    capabilities: { tools: { listChanged: true }, resources: { listChanged: true } },
    instructions: undefined,
    serverInfo: { name: 'raw', version: '1.0.0' },
    protocolVersion: undefined,
    strictVersion: false,
    supportedVersions: [MODERN_VERSION],
    honour: undefined,
    keepAliveMs: 0,
    streamHeaders: 'at once',
    listAs: 'json',
    getStatus: 200,
    initializedStatus: 202,
    ...settings,
    calls: new Map(),
    received: [],
    sessions: new Set(),
    streams: new Set(),
  };
  const log = new RequestLog();
  const scripts: Script[] = [];

  const scriptFor = (what: string): Answer => {
    const fitting = scripts.filter((script) => (script.what === what || script.what === '*') && script.left > 0);
    const script = fitting.find(({ left }) => left !== Number.POSITIVE_INFINITY) ?? fitting.at(-1);
    if (script === undefined) return pass;
    script.left--;
    return script.answer;
  };

  const http = await serveLoopback(async (request, response) => {
    const body = parsed(await bodyOf(request));
    const { rpc } = log.add(request, body);
    const exchange = exchangeOf(state, { request, response, body, rpc });
    await scriptFor(exchange.what)(exchange);
  }, wantedPort);
  onCleanup(() => http.close());

  const on: RawToolset['on'] = (what, answer, { times = Number.POSITIVE_INFINITY } = {}) => {
    const script = { what, answer, left: times };
    scripts.push(script);
    return () => {
      script.left = 0;
    };
  };
  return Object.assign(state, {
    url: `${http.origin}/mcp`,
    port: http.port,
    requests: log.requests,
    counts: () => log.counts(),
    on,
    once(what: string, ...answers: Answer[]) {
      for (const answer of answers) on(what, answer, { times: 1 });
    },
    push(note: Note = { method: 'notifications/tools/list_changed' }) {
      for (const stream of state.streams) stream.send(note);
    },
    cutStreams(how: 'fin' | 'rst' | 'graceful') {
      for (const stream of [...state.streams]) {
        if (how === 'graceful') stream.finish();
        else stream.cut(how);
      }
    },
    forgetSessions: () => state.sessions.clear(),
    openSockets: () => http.sockets(),
    acceptedSockets: () => http.accepted(),
    resetSockets: () => http.cutSockets('rst'),
    close: () => http.close(),
  });
}

interface Arrived {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: unknown;
  readonly rpc: string | undefined;
}

function exchangeOf(state: RawState, { request, response, body, rpc }: Arrived): Exchange {
  const message = (typeof body === 'object' && body !== null ? body : {}) as { id?: unknown; params?: unknown };
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const exchange: Exchange = {
    request,
    response,
    what: rpc ?? (request.method === 'POST' ? (body === undefined ? 'unreadable' : 'answer') : (request.method ?? '')),
    id: message.id,
    params: (typeof message.params === 'object' && message.params !== null ? message.params : {}) as Record<string, unknown>,
    gone: gone.signal,
    async prepare() {
      const answer = await normalAnswer(state, exchange);
      return () => answer(exchange);
    },
  };
  return exchange;
}

/** A body that is no JSON counts as none; the normal answer refuses such a POST. */
function parsed(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // Nothing that a client sends may end a test server.
    return undefined;
  }
}
