import type { Implementation } from '@modelcontextprotocol/client';
import { CodedError } from '../core/errors.js';
import type {
  Clock,
  Logger,
  ReadView,
  SessionEvents,
  SessionStatus,
  ToolCallRequest,
  ToolCallResult,
  ToolsetEndpoint,
  ToolsetList,
  ToolsetSession,
} from '../core/ports.js';
import type { JsonObject, ToolDefinition } from '../core/tool.js';
import type { Turnstile } from '../turnstile.js';
import { Connection } from './connection.js';
import { ConnectionKeeper } from './connection-keeper.js';
import type { Environment } from './dispatcher.js';
import { failureOf, isSilence } from './failure.js';
import { listTools } from './list-tools.js';
import { listViewPolicies, readView } from './read-views.js';
import { isObject } from './rpc-message.js';
import { connected, SessionCalls } from './session-calls.js';
import { DEFAULT_LIMITS, type SessionLimits } from './session-limits.js';
import { unlessAborted } from './time-limit.js';
import type { UserHeaders } from './user-sessions.js';
import { ViewSubscriptions } from './view-subscriptions.js';
import { WholeAnswers } from './whole-answers.js';

export interface SessionOptions {
  readonly endpoint: ToolsetEndpoint;
  readonly clock: Clock;
  readonly events: SessionEvents;
  readonly logger: Logger;
  /** Fallback credentials (CONTRACT.md 7.6) and proxy settings (4.9). */
  readonly env: Environment;
  /** Shared by all sessions of one service; see {@link import('./wire.js').WireOptions}. */
  readonly turnstile: Turnstile;
  /** The interval of the heartbeat; 0 turns it off (CONTRACT.md 4.6). */
  readonly heartbeatSeconds: number;
  readonly clientInfo: Implementation;
  readonly limits?: Partial<SessionLimits>;
}

/** Opens a session with one toolset. Nothing is sent before `connect`, `list` or `call`. */
export function openSession(options: SessionOptions): ToolsetSession {
  return new McpSession(options);
}

/** Lists and calls over whatever connection is in use, and what follows when its session turns out to be lost. */
class McpSession implements ToolsetSession {
  readonly #options: SessionOptions;
  readonly #limits: SessionLimits;
  readonly #keeper: ConnectionKeeper;
  readonly #calls: SessionCalls;
  readonly #answers: WholeAnswers;
  readonly #subscriptions: ViewSubscriptions;
  #definitions: ReadonlyMap<string, ToolDefinition> = new Map();
  /** How the lists since the last complete one failed. */
  #failing: 'failures' | 'silence' | undefined;
  /** Until then, what the server declared is not doubted again. */
  #doubtsAgainAt = Number.NEGATIVE_INFINITY;
  #closing: Promise<void> | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    const { endpoint, clock, logger, env, turnstile, heartbeatSeconds, clientInfo, events } = options;
    this.#subscriptions = new ViewSubscriptions({ clock, logger });
    this.#keeper = new ConnectionKeeper({
      ...{ endpoint, clock, logger, env, turnstile, heartbeatSeconds, clientInfo, limits: this.#limits },
      onMessage: (message) => this.#heard(message),
      onStatus: (status) => this.#tell(() => events.status(status)),
      onMissed: () => this.#signal('reconnect'),
      onConnected: (connection) => this.#subscriptions.connected(connection),
    });
    this.#calls = new SessionCalls({
      ...{ keeper: this.#keeper, clock, logger, limits: this.#limits },
      definitionOf: (tool) => this.#definitions.get(tool),
      onToolGone: () => this.#signal('notification'),
      openFor: (headers, signal) => this.#openFor(headers, signal),
    });
    this.#answers = new WholeAnswers({
      keeper: this.#keeper,
      tookSession: (connection, failure) => this.#calls.tookSession(connection, failure),
    });
  }

  get endpoint(): ToolsetEndpoint {
    return this.#keeper.endpoint;
  }

  status(): SessionStatus {
    return this.#keeper.status();
  }

  async connect(signal: AbortSignal): Promise<void> {
    try {
      await connected(this.#keeper, 'connect', (connecting) => unlessAborted(connecting, signal));
    } catch (error) {
      if (!signal.aborted) throw failureOf(error, this.endpoint.name);
      const text = `The connection to toolset "${this.endpoint.name}" was not waited for any longer.`;
      throw new CodedError('TOOLSET_UNREACHABLE', text, { toolset: this.endpoint.name, cause: error });
    }
  }

  async list(signal: AbortSignal): Promise<ToolsetList> {
    try {
      const list = await this.#answers.list(listOf, signal);
      this.#definitions = new Map(list.tools.map((tool) => [tool.name, tool]));
      if (this.#failing !== undefined) this.#keeper.toolsetIsBack(this.#failing);
      this.#failing = undefined;
      return list;
    } catch (error) {
      const failure = this.#failureOfList(error, signal);
      if (isSilence(failure)) this.#failing = 'silence';
      this.#failing ??= 'failures';
      throw failure;
    }
  }

  call(request: ToolCallRequest): Promise<ToolCallResult> {
    return this.#calls.call(request);
  }

  async readView(uri: string, signal: AbortSignal): Promise<ReadView> {
    const read = async (connection: Connection, wanted: AbortSignal) => {
      await this.#subscriptions.watch(connection, uri);
      return readView(connection, uri, wanted);
    };
    return this.#answers.read(read, signal).catch((error: unknown) => {
      throw this.#failureOfView(error, signal);
    });
  }

  async viewPolicies(signal: AbortSignal): Promise<ReadonlyMap<string, unknown>> {
    return this.#answers.read(listViewPolicies, signal).catch((error: unknown) => {
      throw this.#failureOfView(error, signal);
    });
  }

  reopenStream(): void {
    this.#keeper.reopenStream();
  }

  renew(endpoint: ToolsetEndpoint): void {
    this.#calls.forgetUsers();
    this.#keeper.renew(endpoint);
  }

  close(): Promise<void> {
    this.#closing ??= Promise.all([this.#calls.close(), this.#keeper.close()]).then(() => undefined);
    return this.#closing;
  }

  /** A connection whose every request carries a user's headers too, and which hears nothing but what comes on its calls. */
  #openFor(headers: UserHeaders, signal: AbortSignal): Promise<Connection> {
    const { clock, logger, env, turnstile, clientInfo } = this.#options;
    const { probeMs, connectMs } = this.#limits;
    const endpoint = { ...this.endpoint, headers: { ...this.endpoint.headers, ...headers } };
    const onMessage = (message: JsonObject) => this.#heard(message);
    return Connection.open({ endpoint, clock, logger, env, turnstile, clientInfo, probeMs, connectMs, onMessage, signal });
  }

  #failureOfList(error: unknown, signal: AbortSignal): CodedError {
    const toolset = this.endpoint.name;
    if (this.#keeper.closed) return this.#keeper.closedError();
    if (!signal.aborted) return failureOf(error, toolset);
    return new CodedError('LIST_TIMEOUT', `The tool list of "${toolset}" was not complete in time.`, { toolset, cause: error });
  }

  #failureOfView(error: unknown, signal: AbortSignal): CodedError {
    const toolset = this.endpoint.name;
    if (this.#keeper.closed) return this.#keeper.closedError();
    if (!signal.aborted) return failureOf(error, toolset);
    return new CodedError('VIEW_TIMEOUT', `A view of "${toolset}" was not read in time.`, { toolset, cause: error });
  }

  #heard(message: JsonObject): void {
    if (this.#keeper.closed) return;
    const { events } = this.#options;
    if (message.method === 'notifications/tools/list_changed') this.#toolsChanged();
    else if (message.method === 'notifications/resources/list_changed') this.#tell(() => events.viewsChanged(undefined));
    else if (message.method === 'notifications/resources/updated') this.#tell(() => events.viewsChanged(uriOf(message)));
  }

  /** A server that announces tools without having declared any may declare them by now; a new handshake tells, at most once a minute. */
  #toolsChanged(): void {
    const now = this.#options.clock.now();
    if (this.#keeper.current?.facts.declaresTools === false && now >= this.#doubtsAgainAt) {
      this.#doubtsAgainAt = now + this.#limits.renewSoonMs;
      this.#keeper.renew(this.endpoint);
    }
    this.#signal('notification');
  }

  #signal(kind: 'notification' | 'reconnect'): void {
    this.#tell(() => this.#options.events.signal(kind));
  }

  #tell(tellOwner: () => void): void {
    try {
      tellOwner();
    } catch (error) {
      // What fails in the owner must not end the stream or the call during which it was told.
      this.#options.logger.error('session listener failed', { toolset: this.endpoint.name, error: String(error) });
    }
  }
}

async function listOf(connection: Connection, signal: AbortSignal): Promise<ToolsetList> {
  const { declaresTools, instructions } = connection.facts;
  return { tools: declaresTools ? await listTools(connection, signal) : [], instructions, declaresTools };
}

function uriOf(message: JsonObject): string | undefined {
  return isObject(message.params) && typeof message.params.uri === 'string' ? message.params.uri : undefined;
}
