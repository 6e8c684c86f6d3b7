import { CodedError } from '../core/errors.js';
import type { Clock, Logger, ToolCallRequest, ToolCallResult } from '../core/ports.js';
import type { ToolDefinition } from '../core/tool.js';
import type { Connection } from './connection.js';
import type { ConnectionKeeper } from './connection-keeper.js';
import { failureOf, failureOfRpcError, mayHaveRun } from './failure.js';
import type { Occasion } from './occasion.js';
import { mayBeLost, meansLost } from './session-care.js';
import type { SessionLimits } from './session-limits.js';
import { timeLimit, unlessAborted } from './time-limit.js';
import { callTool, saysToolIsGone, userHeaders } from './tool-call.js';
import { digestOf, type UserHeaders, UserSessions } from './user-sessions.js';

export interface SessionCallsOptions {
  readonly keeper: ConnectionKeeper;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: SessionLimits;
  readonly definitionOf: (tool: string) => ToolDefinition | undefined;
  /** The toolset says that it has no such tool (any more). */
  readonly onToolGone: () => void;
  /** Makes a connection of one user. */
  readonly openFor: (headers: UserHeaders, signal: AbortSignal) => Promise<Connection>;
}

interface Refusal {
  readonly failure: CodedError;
  readonly request: ToolCallRequest;
  readonly user: UserHeaders;
}

/** When two sessions were lost to calls of users within this time, the toolset may give each session to its first caller. */
const LOST_AGAIN_MS = 60_000;

/**
 * The tool calls of one session (CONTRACT.md 4.5, 7.6). All share one connection, unless the toolset binds a session to one
 * caller: when it refuses a user's call on the shared session and accepts it on a session of his own, every user gets one.
 */
export class SessionCalls {
  readonly #options: SessionCallsOptions;
  readonly #users: UserSessions;
  /** The digest of the first user's credentials, for each connection on which a user's call was made. */
  readonly #firstUsers = new WeakMap<Connection, string>();
  #sessions: 'shared' | 'one per user' = 'shared';
  #lost: { readonly connection: Connection; readonly at: number } | undefined;

  constructor(options: SessionCallsOptions) {
    this.#options = options;
    const { clock, limits } = options;
    this.#users = new UserSessions({
      ...{ clock, maxUserSessions: limits.maxUserSessions, userIdleMs: limits.userIdleMs },
      open: options.openFor,
    });
  }

  async call(request: ToolCallRequest): Promise<ToolCallResult> {
    const headers = userHeaders(this.#options.keeper.endpoint, request);
    const user = Object.keys(headers).length > 0 ? headers : undefined;
    if (user !== undefined && this.#sessions === 'one per user') return this.#callAs(user, request);
    return this.#callShared(request, user);
  }

  /** The endpoint has other headers, so nothing that was learnt about its sessions counts any longer. */
  forgetUsers(): void {
    this.#sessions = 'shared';
    this.#users.retireAll();
  }

  close(): Promise<void> {
    return this.#users.close(this.#options.keeper.closedError());
  }

  /** True when the service is refused on a session on which users' calls were made: the toolset has given it to one of them. */
  tookSession(connection: Connection, failure: CodedError): boolean {
    if (failure.code !== 'TOOLSET_UNAUTHORIZED' || !connection.hasSession || !this.#firstUsers.has(connection)) return false;
    this.#noteBinding();
    return true;
  }

  async #callShared(request: ToolCallRequest, user: UserHeaders | undefined): Promise<ToolCallResult> {
    const { keeper } = this.#options;
    for (let attempt = 0; ; attempt += 1) {
      const connection = await connected(keeper, 'call', (connecting) =>
        this.#soon(request, (signal) => unlessAborted(connecting, signal)),
      );
      if (user !== undefined && !this.#firstUsers.has(connection)) this.#firstUsers.set(connection, digestOf(user));
      try {
        return await this.#callOn(connection, request);
      } catch (error) {
        const failure = failureOf(error, keeper.endpoint.name);
        if (keeper.closed) throw failure;
        if (user !== undefined && (await this.#mayBeBound(connection, { failure, request, user }))) return this.#callBound(user, request);
        if (failure.code !== 'SESSION_LOST' && !(await this.#isLostBehind(failure, connection, request))) throw failure;
        const replacing = keeper.replaceLost(connection, 'call');
        // The outcome is waited for below, or by nobody: the next call or list meets it again.
        replacing.catch(() => undefined);
        if (attempt > 0 || mayHaveRun(failure)) throw failure;
        await this.#soon(request, (signal) => unlessAborted(replacing, signal));
      }
    }
  }

  /**
   * Whether the refusal of a user's call may mean that the session belongs to somebody else. A session that the service itself no longer
   * reaches was lost, as at a restart; but when that happens again at once and another user came first, he may have been given it.
   */
  async #mayBeBound(connection: Connection, { failure, request, user }: Refusal): Promise<boolean> {
    if (!connection.hasSession || mayHaveRun(failure)) return false;
    if (failure.code === 'TOOLSET_UNAUTHORIZED') return true;
    if (failure.code !== 'SESSION_LOST' || connection.outdated.aborted) return false;
    if ((await this.#sessionAt(connection, request)) === 'known') return true;
    const at = this.#options.clock.now();
    const before = this.#lost;
    this.#lost = { connection, at };
    const lostAgain = before !== undefined && before.connection !== connection && at - before.at < LOST_AGAIN_MS;
    return lostAgain && this.#firstUsers.get(connection) !== digestOf(user);
  }

  /**
   * Whether a refusal that does not say so comes from a lost session. 400, 405, -32600 and -32001 may as well be about the call itself, so
   * the server is asked.
   */
  async #isLostBehind(failure: CodedError, connection: Connection, request: ToolCallRequest): Promise<boolean> {
    if (!connection.hasSession || connection.outdated.aborted || !mayBeLost(failure)) return false;
    return (await this.#sessionAt(connection, request)) === 'lost';
  }

  /** What the server says about the session when the service asks something that it refuses only when it does not know the session. */
  async #sessionAt(connection: Connection, request: ToolCallRequest): Promise<'known' | 'lost' | 'no answer'> {
    const { name } = this.#options.keeper.endpoint;
    try {
      const reply = await this.#soon(request, (signal) => connection.ask('ping', {}, signal));
      return reply.kind === 'error' && failureOfRpcError({ toolset: name, ...reply }).code === 'SESSION_LOST' ? 'lost' : 'known';
    } catch (error) {
      // A server that cannot be reached just now says nothing about the session.
      return meansLost(failureOf(error, name)) ? 'lost' : 'no answer';
    }
  }

  /** The toolset refused the call, so it cannot have run, and may be made again on a session of the user's own. */
  async #callBound(user: UserHeaders, request: ToolCallRequest): Promise<ToolCallResult> {
    const result = await this.#callAs(user, request);
    this.#noteBinding();
    return result;
  }

  #noteBinding(): void {
    if (this.#sessions === 'one per user') return;
    const { keeper, logger } = this.#options;
    this.#sessions = 'one per user';
    logger.info('sessions are per user', { toolset: keeper.endpoint.name });
    // The shared session may be bound to the user who called first; the service goes on with a fresh one.
    keeper.renew(keeper.endpoint);
  }

  async #callAs(user: UserHeaders, request: ToolCallRequest): Promise<ToolCallResult> {
    const { keeper, limits } = this.#options;
    // The handshake is part of the call here, and no sign that the toolset is down.
    const ownWaitMs = limits.callWaitMs + limits.connectMs;
    for (let attempt = 0; ; attempt += 1) {
      if (keeper.closed) throw keeper.closedError();
      const session = await this.#soon(request, (signal) => this.#users.take(user, signal), ownWaitMs);
      try {
        return await this.#callOn(session.connection, request);
      } catch (error) {
        const failure = failureOf(error, keeper.endpoint.name);
        if (failure.code === 'SESSION_LOST') session.leave('lost');
        if (failure.code !== 'SESSION_LOST' || attempt > 0 || mayHaveRun(failure)) throw failure;
      } finally {
        session.leave('known');
      }
    }
  }

  async #callOn(connection: Connection, request: ToolCallRequest): Promise<ToolCallResult> {
    const { keeper, definitionOf, onToolGone } = this.#options;
    try {
      const result = await connection.use(() => callTool(connection, { request, definition: definitionOf(request.tool) }));
      if (saysToolIsGone(result)) onToolGone();
      return result;
    } catch (error) {
      if (error instanceof CodedError && error.code === 'TOOL_GONE' && !keeper.closed) onToolGone();
      throw error;
    }
  }

  /** Waits for a connection as long as a tool call may, and no longer than its caller does. */
  async #soon<T>(request: ToolCallRequest, wait: (signal: AbortSignal) => Promise<T>, ms = this.#options.limits.callWaitMs): Promise<T> {
    const { clock, keeper } = this.#options;
    const toolset = keeper.endpoint.name;
    const limit = timeLimit({ clock, ms, signal: request.signal });
    try {
      return await wait(limit.signal);
    } catch (error) {
      if (request.signal?.aborted) throw new CodedError('CALL_CANCELLED', 'The call was cancelled.', { toolset });
      if (limit.expired()) throw new CodedError('TOOLSET_UNREACHABLE', `There is no connection to toolset "${toolset}".`, { toolset });
      throw failureOf(error, toolset);
    } finally {
      limit.end();
    }
  }
}

/** The connection in use, or a new one when there is none; `wait` bounds how long the caller waits for it. */
export async function connected(
  keeper: ConnectionKeeper,
  occasion: Occasion,
  wait: (connecting: Promise<void>) => Promise<void>,
): Promise<Connection> {
  let connection = keeper.current;
  while (connection === undefined) {
    await wait(keeper.establish(occasion));
    connection = keeper.current;
  }
  return connection;
}
