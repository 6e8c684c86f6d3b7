import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type Client,
  type Implementation,
  PROTOCOL_VERSION_META_KEY,
  parseJSONRPCMessage,
  type StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { CodedError } from '../core/errors.js';
import type { Clock, Logger, ToolsetEndpoint } from '../core/ports.js';
import type { JsonObject } from '../core/tool.js';
import type { Turnstile } from '../turnstile.js';
import type { Environment } from './dispatcher.js';
import { Exchanges } from './exchange.js';
import { shakeHands } from './handshake.js';
import type { Reply } from './rpc-message.js';
import { CallRegister } from './sdk-fetch.js';
import { factsOf, type ServerFacts } from './server-facts.js';
import { settledWithin } from './time-limit.js';
import { Wire } from './wire.js';

/** How long the farewell to a server's session is waited for (CONTRACT.md 4.7). */
const FAREWELL_MS = 1_000;

/** Our own request ids start here, out of the way of those that the SDK counts from 0 on the same session. */
const FIRST_ID = 1_000_000_000;

export interface ConnectionOptions {
  readonly endpoint: ToolsetEndpoint;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly env: Environment;
  readonly turnstile: Turnstile;
  readonly clientInfo: Implementation;
  readonly probeMs: number;
  readonly connectMs: number;
  /** Sees every message that the server sends of its own accord. Must not throw and must return at once. */
  readonly onMessage: (message: JsonObject) => void;
  readonly signal: AbortSignal;
}

/**
 * One finished handshake with one server, with sockets of its own. It never reconnects: a session that is lost or old is
 * replaced by another connection. `retire` lets calls in flight end first, `close` does not.
 */
export class Connection {
  readonly facts: ServerFacts;
  readonly client: Client;
  readonly calls: CallRegister;
  readonly wire: Wire;
  /** The id of the last event of the notification stream, from which a server with a memory can go on. */
  lastEventId: string | undefined;
  readonly #transport: StreamableHTTPClientTransport;
  readonly #exchanges: Exchanges;
  readonly #deliver: (message: JsonObject) => void;
  readonly #options: ConnectionOptions;
  readonly #outdated = new AbortController();
  #users = 0;
  #lastId = FIRST_ID;
  #whenIdle: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  private constructor(
    options: ConnectionOptions,
    parts: {
      readonly wire: Wire;
      readonly exchanges: Exchanges;
      readonly calls: CallRegister;
      readonly deliver: (message: JsonObject) => void;
      readonly client: Client;
      readonly transport: StreamableHTTPClientTransport;
    },
  ) {
    this.#options = options;
    this.wire = parts.wire;
    this.calls = parts.calls;
    this.client = parts.client;
    this.#exchanges = parts.exchanges;
    this.#deliver = parts.deliver;
    this.#transport = parts.transport;
    this.facts = factsOf(parts.client);
  }

  /** Connects. Throws a CodedError; then no socket is left. */
  static async open(options: ConnectionOptions): Promise<Connection> {
    const { endpoint, logger } = options;
    const wire = new Wire(options);
    const calls = new CallRegister();
    const transports: StreamableHTTPClientTransport[] = [];
    const deliver = (message: JsonObject) => {
      options.onMessage(message);
      try {
        transports.at(-1)?.onmessage?.(parseJSONRPCMessage(message));
      } catch (error) {
        // What is no JSON-RPC message concerns nobody; a server that sends nonsense must not end the stream it came on.
        logger.debug('message ignored', { toolset: endpoint.name, reason: error instanceof Error ? error.name : 'unknown' });
      }
    };
    const exchanges = new Exchanges(wire, deliver);
    try {
      const shaken = await shakeHands(
        {
          toolset: endpoint.name,
          url: endpoint.url,
          clientInfo: options.clientInfo,
          exchanges,
          calls,
          logger,
          probeMs: options.probeMs,
          connectMs: options.connectMs,
          signal: options.signal,
        },
        (opened) => void transports.push(opened),
      );
      return new Connection(options, { wire, exchanges, calls, deliver, ...shaken });
    } catch (error) {
      // A handshake that broke off may have left sessions at the server, which nobody will ever use.
      const left = transports.flatMap(({ sessionId }) => (sessionId === undefined ? [] : [sessionId]));
      const farewells = Promise.all(left.map((session) => sayGoodbye(wire, { 'mcp-session-id': session }, logger)));
      await settledWithin({ clock: options.clock, ms: FAREWELL_MS, promise: farewells });
      await wire.close();
      throw error;
    }
  }

  get endpoint(): ToolsetEndpoint {
    return this.#options.endpoint;
  }

  /** Whether the server gave this connection a session (2025 era, stateful servers). */
  get hasSession(): boolean {
    return this.#transport.sessionId !== undefined;
  }

  /** Aborted when another connection took this one's place, or is being made because the session is lost: lists on it are of no use any more. */
  get outdated(): AbortSignal {
    return this.#outdated.signal;
  }

  /** Ends the lists on this connection. Calls go on: they may be running already. */
  outdate(): void {
    this.#outdated.abort(new CodedError('SESSION_LOST', 'The session was replaced.', { toolset: this.endpoint.name }));
  }

  /** Hands on a message that arrived outside a reply: to the owner, then to the SDK, which answers pings. */
  deliver(message: JsonObject): void {
    this.#deliver(message);
  }

  /** The headers that the negotiated protocol asks for with a request of this method. */
  headersFor(method: string): Record<string, string> {
    const headers: Record<string, string> = { 'mcp-protocol-version': this.facts.protocol };
    if (this.facts.era === 'modern') headers['mcp-method'] = method;
    const session = this.#transport.sessionId;
    if (session !== undefined) headers['mcp-session-id'] = session;
    return headers;
  }

  /** The parameters of a request, with the envelope that the 2026 era wants in each. */
  paramsFor(params: JsonObject): JsonObject {
    if (this.facts.era === 'legacy') return params;
    return {
      ...params,
      _meta: {
        [PROTOCOL_VERSION_META_KEY]: this.facts.protocol,
        [CLIENT_INFO_META_KEY]: this.#options.clientInfo,
        [CLIENT_CAPABILITIES_META_KEY]: {},
      },
    };
  }

  /** A request id that was not used on this connection before. */
  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  /** Sends a request past the SDK and answers the raw reply. Throws a CodedError when there is none, and LIST_TOO_LARGE for many more entries than `mostEntries`. */
  async ask(method: string, params: JsonObject, signal: AbortSignal, mostEntries?: number): Promise<Reply> {
    const message = { jsonrpc: '2.0', id: this.nextId(), method, params: this.paramsFor(params) };
    const { reply } = await this.#exchanges.ask(message, { headers: this.headersFor(method), signal, mostEntries });
    return reply;
  }

  /** Keeps a retired connection open while `work` runs. */
  async use<T>(work: () => Promise<T>): Promise<T> {
    this.#users += 1;
    try {
      return await work();
    } finally {
      this.#users -= 1;
      if (this.#users === 0) this.#whenIdle?.();
    }
  }

  /** Closes the connection once nobody uses it. A `lost` session gets no farewell: the server no longer knows it. */
  async retire(session: 'known' | 'lost'): Promise<void> {
    this.outdate();
    if (this.#users > 0) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve;
      });
    }
    await this.close(session);
  }

  /** Closes the connection now: requests in flight fail, the server's session is ended, every socket goes. */
  close(session: 'known' | 'lost'): Promise<void> {
    this.#closing ??= this.#close(session);
    return this.#closing;
  }

  async #close(session: 'known' | 'lost'): Promise<void> {
    if (session === 'known' && this.hasSession) {
      const { clock, logger } = this.#options;
      await settledWithin({ clock, ms: FAREWELL_MS, promise: sayGoodbye(this.wire, this.headersFor(''), logger) });
    }
    await this.client.close();
    await this.wire.close();
    this.#whenIdle?.();
  }
}

/** Ends the session that the headers name at its server. Never rejects. */
async function sayGoodbye(wire: Wire, headers: Readonly<Record<string, string>>, logger: Logger): Promise<void> {
  try {
    const answer = await wire.open({ method: 'DELETE', headers });
    answer.end();
  } catch (error) {
    // The server forgets the session by itself sooner or later; nobody waits for it.
    const { code } = error instanceof CodedError ? error : { code: 'unknown' };
    logger.debug('session not ended at the server', { toolset: wire.toolset, code });
  }
}
