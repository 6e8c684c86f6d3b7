import type { Implementation } from '@modelcontextprotocol/client';
import { CodedError } from '../core/errors.js';
import type {
  Clock,
  Logger,
  SessionEvents,
  SessionStatus,
  ToolCallRequest,
  ToolCallResult,
  ToolsetEndpoint,
  ToolsetList,
  ToolsetSession,
} from '../core/ports.js';
import type { JsonObject, ToolDefinition } from '../core/tool.js';
import { Connection, type ServerFacts } from './connection.js';
import type { Environment } from './dispatcher.js';
import { failureOf, failureOfRpcError, mayHaveRun } from './failure.js';
import { listTools } from './list-tools.js';
import { DEFAULT_LIMITS, type SessionLimits } from './session-limits.js';
import { StreamKeeper } from './stream-keeper.js';
import { timeLimit, unlessAborted } from './time-limit.js';
import { callTool, saysToolIsGone } from './tool-call.js';

export interface SessionOptions {
  readonly endpoint: ToolsetEndpoint;
  readonly clock: Clock;
  readonly events: SessionEvents;
  readonly logger: Logger;
  /** Fallback credentials (CONTRACT.md 7.6) and proxy settings (4.9). */
  readonly env: Environment;
  /** The interval of the heartbeat; 0 turns it off (CONTRACT.md 4.6). */
  readonly heartbeatSeconds: number;
  readonly clientInfo: Implementation;
  readonly limits?: Partial<SessionLimits>;
}

/** Why another connection is made. */
type Occasion = 'connect' | 'list' | 'call' | 'stream' | 'heartbeat' | 'renewal' | 'headers';

/** How often one list may be started again because the connection under it was replaced. */
const MAX_RESTARTS = 3;

/** HTTP statuses with which servers answer a list of a session that they do not know, besides those that say so (CONTRACT.md 4.5). */
const LOST_STATUS: ReadonlySet<number | undefined> = new Set([400, 404, 405, 410]);

/** Opens a session with one toolset. Nothing is sent before `connect`, `list` or `call`. */
export function openSession(options: SessionOptions): ToolsetSession {
  return new McpSession(options);
}

/** One toolset's session: at most one connection in use, one being made, and old ones that end when their last call has. */
class McpSession implements ToolsetSession {
  readonly #options: SessionOptions;
  readonly #limits: SessionLimits;
  readonly #keeper: StreamKeeper;
  readonly #life = new AbortController();
  readonly #open = new Set<Connection>();
  #endpoint: ToolsetEndpoint;
  #push: SessionStatus['push'] = 'connecting';
  #facts: ServerFacts | undefined;
  #connection: Connection | undefined;
  #opening: { readonly endpoint: ToolsetEndpoint; readonly done: Promise<void> } | undefined;
  #definitions: ReadonlyMap<string, ToolDefinition> = new Map();
  #listFailed = false;
  /** The status that the owner was told last, so that it is told of changes only. */
  #told = '';
  #cancelHeartbeat: (() => void) | undefined;
  #cancelRenewal: (() => void) | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#endpoint = options.endpoint;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#keeper = new StreamKeeper({
      clock: options.clock,
      limits: this.#limits,
      logger: options.logger,
      owner: {
        hears: (yes) => this.#setPush(yes ? 'watching' : 'polling'),
        missed: () => this.#options.events.signal('reconnect'),
        replace: (connection, why) => this.#replaceForStream(connection, why),
        renewSoon: () => this.#armRenewal(this.#limits.renewSoonMs),
      },
    });
  }

  get endpoint(): ToolsetEndpoint {
    return this.#endpoint;
  }

  status(): SessionStatus {
    return { push: this.#push, protocol: this.#facts?.protocol, server: this.#facts?.server };
  }

  async connect(signal: AbortSignal): Promise<void> {
    await this.#connected({ signal, occasion: 'connect' });
  }

  async list(signal: AbortSignal): Promise<ToolsetList> {
    let replaced = false;
    for (let restarts = 0; ; ) {
      let connection: Connection | undefined;
      try {
        const used = await this.#connected({ signal, occasion: 'list' });
        connection = used;
        const list = await used.use(() => this.#walk(used, signal));
        // A list of a connection that was replaced meanwhile may be older than what the new one would say.
        if (connection === this.#connection || restarts === MAX_RESTARTS) return this.#listed(list);
        restarts += 1;
      } catch (error) {
        const failure = this.#failureOfList(error, signal);
        if (connection !== undefined && connection !== this.#connection && restarts < MAX_RESTARTS && !this.#over(signal)) {
          restarts += 1;
          continue;
        }
        const lost = failure.code === 'SESSION_LOST' || LOST_STATUS.has(failure.status);
        if (connection === undefined || replaced || !lost || this.#over(signal)) {
          this.#listFailed = true;
          throw replaced ? notLostAgain(failure) : failure;
        }
        replaced = true;
        await this.#replaceForList(connection, signal);
      }
    }
  }

  async call(request: ToolCallRequest): Promise<ToolCallResult> {
    for (let attempt = 0; ; attempt += 1) {
      const connection = await this.#connectedForCall(request.signal);
      const definition = this.#definitions.get(request.tool);
      try {
        const result = await connection.use(() => callTool(connection, { request, definition }));
        if (saysToolIsGone(result)) this.#options.events.signal('notification');
        return result;
      } catch (error) {
        const failure = failureOf(error, this.#endpoint.name);
        if (failure.code === 'TOOL_GONE' && !this.#life.signal.aborted) this.#options.events.signal('notification');
        if (failure.code !== 'SESSION_LOST' || this.#life.signal.aborted) throw failure;
        const replacing = this.#replaceLost(connection, 'call');
        // The outcome is waited for below, or by nobody: the next call or list meets it again.
        replacing.catch(() => undefined);
        if (attempt > 0 || mayHaveRun(failure)) throw failure;
        await this.#soon(replacing, request.signal);
      }
    }
  }

  reopenStream(): void {
    this.#keeper.reopenNow();
  }

  renew(endpoint: ToolsetEndpoint): void {
    this.#endpoint = endpoint;
    if (this.#connection !== undefined || this.#opening !== undefined) this.#renewNow('headers');
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#life.abort(this.#closedError());
    this.#stopTimers();
    this.#keeper.detach();
    this.#connection = undefined;
    this.#setPush('closed');
    await this.#opening?.done.catch(() => undefined);
    await Promise.all([...this.#open].map((connection) => connection.close('known')));
  }

  /** The connection in use, or a new one when there is none. */
  async #connected(options: { readonly signal: AbortSignal; readonly occasion: Occasion }): Promise<Connection> {
    while (this.#connection === undefined) await unlessAborted(this.#establish(options.occasion), options.signal);
    return this.#connection;
  }

  async #connectedForCall(signal: AbortSignal | undefined): Promise<Connection> {
    while (this.#connection === undefined) await this.#soon(this.#establish('call'), signal);
    return this.#connection;
  }

  /** Waits for a connection as long as a tool call may (CONTRACT.md 4.5). */
  async #soon(connecting: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
    const toolset = this.#endpoint.name;
    const limit = timeLimit({ clock: this.#options.clock, ms: this.#limits.callWaitMs, signal });
    try {
      await unlessAborted(connecting, limit.signal);
    } catch (error) {
      if (signal?.aborted) throw new CodedError('CALL_CANCELLED', 'The call was cancelled.', { toolset });
      if (limit.expired()) throw new CodedError('TOOLSET_UNREACHABLE', `There is no connection to toolset "${toolset}".`, { toolset });
      throw failureOf(error, toolset);
    } finally {
      limit.end();
    }
  }

  /** Makes a new connection the one in use. Callers that come meanwhile share the attempt, unless the endpoint changed. */
  #establish(occasion: Occasion): Promise<void> {
    if (this.#life.signal.aborted) return Promise.reject(this.#closedError());
    const endpoint = this.#endpoint;
    const under = this.#opening;
    if (under?.endpoint === endpoint) return under.done;
    const make = async () => {
      // The attempt before was for an endpoint that is out of date; how it ended does not matter.
      await under?.done.catch(() => undefined);
      try {
        await this.#openConnection(endpoint, occasion);
      } finally {
        if (this.#opening === entry) this.#opening = undefined;
      }
    };
    const entry = { endpoint, done: Promise.resolve().then(make) };
    this.#opening = entry;
    return entry.done;
  }

  async #openConnection(endpoint: ToolsetEndpoint, occasion: Occasion): Promise<void> {
    const { clock, logger, env, clientInfo } = this.#options;
    const { probeMs, connectMs } = this.#limits;
    const onMessage = (message: JsonObject) => this.#heard(message);
    const connection = await Connection.open({
      ...{ endpoint, clock, logger, env, clientInfo, probeMs, connectMs, onMessage },
      signal: this.#life.signal,
    });
    this.#open.add(connection);
    const watch = await this.#keeper.prepare(connection);
    if (this.#life.signal.aborted) {
      this.#keeper.discard(watch);
      await this.#letGo(connection, 'known');
      throw this.#closedError();
    }
    const before = { connection: this.#connection, facts: this.#facts };
    this.#connection = connection;
    this.#facts = connection.facts;
    const hears = this.#keeper.adopt(watch);
    if (before.connection !== undefined) void this.#letGo(before.connection, occasion === 'list' || occasion === 'call' ? 'lost' : 'known');
    this.#setPush(hears ? 'watching' : 'polling');
    if (before.facts !== undefined && mayHaveMissed(occasion, { before: before.facts, now: connection.facts }))
      this.#options.events.signal('reconnect');
  }

  /** Ends a connection once its calls have ended. Never rejects. */
  async #letGo(connection: Connection, session: 'known' | 'lost'): Promise<void> {
    try {
      await connection.retire(session);
    } catch (error) {
      // Its sockets are gone either way; nobody waits for a connection that is no longer used.
      this.#options.logger.debug('connection not closed properly', {
        toolset: this.#endpoint.name,
        code: failureOf(error, this.#endpoint.name).code,
      });
    } finally {
      this.#open.delete(connection);
    }
  }

  /** Replaces a connection whose session is lost, once, however many callers met it (CONTRACT.md 4.5). */
  async #replaceLost(connection: Connection, occasion: Occasion): Promise<void> {
    if (this.#connection !== undefined && this.#connection !== connection) return;
    try {
      await this.#establish(occasion);
    } catch (error) {
      if (this.#connection === connection) {
        this.#connection = undefined;
        this.#stopTimers();
        this.#keeper.detach();
        void this.#letGo(connection, 'lost');
        this.#setPush('connecting');
        if (occasion !== 'list') this.#options.events.signal('reconnect');
      }
      throw error;
    }
  }

  async #replaceForList(connection: Connection, signal: AbortSignal): Promise<void> {
    try {
      await unlessAborted(this.#replaceLost(connection, 'list'), signal);
    } catch (error) {
      this.#listFailed = true;
      throw this.#failureOfList(error, signal);
    }
  }

  async #replaceForStream(connection: Connection, why: 'lost' | 'reopen'): Promise<'replaced' | 'kept' | 'dropped'> {
    try {
      if (why === 'lost') await this.#replaceLost(connection, 'stream');
      else await this.#establish('stream');
      return 'replaced';
    } catch (error) {
      // The owner was told by a signal, or is told by the keeper; its next list shows whether the toolset answers at all.
      this.#options.logger.debug('no new connection', { toolset: this.#endpoint.name, code: failureOf(error, this.#endpoint.name).code });
      return this.#connection === connection ? 'kept' : 'dropped';
    }
  }

  async #walk(connection: Connection, signal: AbortSignal): Promise<ToolsetList> {
    const { declaresTools, instructions } = connection.facts;
    const tools = declaresTools ? await listTools(connection, signal) : [];
    return { tools, instructions, declaresTools };
  }

  #listed(list: ToolsetList): ToolsetList {
    this.#definitions = new Map(list.tools.map((tool) => [tool.name, tool]));
    if (this.#listFailed) this.#keeper.toolsetIsBack();
    this.#listFailed = false;
    return list;
  }

  #failureOfList(error: unknown, signal: AbortSignal): CodedError {
    const toolset = this.#endpoint.name;
    if (this.#life.signal.aborted) return this.#closedError();
    if (!signal.aborted) return failureOf(error, toolset);
    return new CodedError('LIST_TIMEOUT', `The tool list of "${toolset}" was not complete in time.`, { toolset, cause: error });
  }

  #over(signal: AbortSignal): boolean {
    return signal.aborted || this.#life.signal.aborted;
  }

  #heard(message: JsonObject): void {
    if (this.#life.signal.aborted) return;
    const { events } = this.#options;
    if (message.method === 'notifications/tools/list_changed') events.signal('notification');
    else if (message.method === 'notifications/resources/list_changed') events.viewsChanged(undefined);
    else if (message.method === 'notifications/resources/updated') events.viewsChanged(uriOf(message));
  }

  #setPush(push: SessionStatus['push']): void {
    this.#push = push;
    if (push === 'watching' || push === 'polling') this.#armTimers();
    const told = JSON.stringify(this.status());
    if (told === this.#told) return;
    this.#told = told;
    this.#options.events.status(this.status());
  }

  #armTimers(): void {
    this.#armHeartbeat();
    this.#armRenewal(this.#push === 'watching' ? this.#limits.renewMs : this.#limits.pollingRenewMs);
  }

  #stopTimers(): void {
    this.#cancelHeartbeat?.();
    this.#cancelRenewal?.();
  }

  #armHeartbeat(): void {
    const { heartbeatSeconds } = this.#options;
    this.#cancelHeartbeat?.();
    if (heartbeatSeconds <= 0 || this.#push !== 'watching') return;
    this.#cancelHeartbeat = this.#options.clock.after(this.#jittered(heartbeatSeconds * 1_000), () => void this.#beat());
  }

  /** Finds out whether the server still knows the session (CONTRACT.md 4.6). Never rejects. */
  async #beat(): Promise<void> {
    const connection = this.#connection;
    if (connection === undefined) return;
    const limit = timeLimit({ clock: this.#options.clock, ms: this.#limits.heartbeatAnswerMs, signal: this.#life.signal });
    try {
      const { era } = connection.facts;
      const reply = await connection.use(() => connection.ask(era === 'modern' ? 'server/discover' : 'ping', {}, limit.signal));
      if (reply.kind === 'error') throw failureOfRpcError({ toolset: this.#endpoint.name, ...reply });
    } catch (error) {
      // Other failures are left to the lists: a heartbeat looks for lost sessions only.
      const failure = failureOf(error, this.#endpoint.name);
      const lost = failure.code === 'SESSION_LOST' || (connection.facts.era === 'modern' && LOST_STATUS.has(failure.status));
      if (lost && !this.#life.signal.aborted) await this.#replaceLost(connection, 'heartbeat').catch(() => undefined);
    } finally {
      limit.end();
      if (this.#connection === connection) this.#armHeartbeat();
    }
  }

  #armRenewal(ms: number): void {
    this.#cancelRenewal?.();
    this.#cancelRenewal = this.#options.clock.after(this.#jittered(ms), () => this.#renewNow('renewal'));
  }

  #renewNow(occasion: 'renewal' | 'headers'): void {
    this.#establish(occasion).catch((error: unknown) => {
      // The connection that we have stays in use; the renewal is tried again before long.
      this.#options.logger.debug('session not renewed', { toolset: this.#endpoint.name, code: failureOf(error, this.#endpoint.name).code });
      if (this.#connection !== undefined) this.#armRenewal(this.#limits.renewSoonMs);
    });
  }

  /** Up to a tenth more or less. */
  #jittered(ms: number): number {
    return ms * (0.9 + this.#options.clock.random() / 5);
  }

  #closedError(): CodedError {
    const { name } = this.#endpoint;
    return new CodedError('SESSION_CLOSED', `The session with toolset "${name}" was closed.`, { toolset: name });
  }
}

/** Whether a change may have gone unheard when a connection took another one's place. */
function mayHaveMissed(occasion: Occasion, facts: { readonly before: ServerFacts; readonly now: ServerFacts }): boolean {
  switch (occasion) {
    // Who asked for the connection lists on it anyway, after its stream is open.
    case 'connect':
    case 'list':
      return false;
    // The old stream was open until the new one was; only another server behind the same URL is news.
    case 'renewal':
      return JSON.stringify(facts.before) !== JSON.stringify(facts.now);
    default:
      return true;
  }
}

/** A session that is "lost" right after it was made was never the trouble: the toolset refuses us. */
function notLostAgain(failure: CodedError): CodedError {
  if (failure.code !== 'SESSION_LOST') return failure;
  const code = failure.status === undefined ? 'TOOLSET_PROTOCOL_ERROR' : 'TOOLSET_REFUSED';
  return new CodedError(code, failure.message, { toolset: failure.toolset, status: failure.status, cause: failure.cause });
}

function uriOf(message: JsonObject): string | undefined {
  const { params } = message;
  if (typeof params !== 'object' || params === null || !('uri' in params)) return undefined;
  return typeof params.uri === 'string' ? params.uri : undefined;
}
