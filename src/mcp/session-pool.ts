import type { Implementation } from '@modelcontextprotocol/client';
import { CodedError } from '../core/errors.js';
import type {
  Clock,
  Logger,
  SessionStatus,
  Sessions,
  ToolCallRequest,
  ToolCallResult,
  ToolsetEndpoint,
  ToolsetSession,
} from '../core/ports.js';
import { toolsetId } from '../core/snapshot.js';
import { Turnstile } from '../turnstile.js';
import type { Environment } from './dispatcher.js';
import { openSession } from './session.js';
import type { SessionLimits } from './session-limits.js';

export interface PoolOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly env: Environment;
  readonly heartbeatSeconds: number;
  /** How this client introduces itself to toolsets. */
  readonly clientInfo?: Implementation;
  readonly limits?: Partial<SessionLimits>;
  /** See {@link import('../core/ports.js').SessionEvents}; the receiver must return at once. */
  readonly onSignal: (id: string, kind: 'notification' | 'reconnect') => void;
  readonly onStatus: (id: string, status: SessionStatus) => void;
  readonly onViewsChanged?: (id: string, uri: string | undefined) => void;
}

/** The sessions by toolset identity. A session lives while its toolset is wanted or somebody holds it (CONTRACT.md 4.7). */
export interface SessionPool extends Sessions {
  /** The session of a toolset, opened if there is none; from now on the toolset is wanted. */
  get(endpoint: ToolsetEndpoint): ToolsetSession;
  /** The status of a toolset's session; undefined when it has none. */
  status(id: string): SessionStatus | undefined;
  /** The open session of a toolset, which stays as wanted as it was; undefined when it has none. */
  find(id: string): ToolsetSession | undefined;
  /** The toolset left the index: its session is closed once nobody holds it. */
  dismiss(id: string): void;
  /** Holds a session for a generation. Every call is undone by one `release`. */
  acquire(id: string): void;
  release(id: string): void;
  /** The toolset has other headers: its session is replaced, new before old. Nothing happens when it has none. */
  renew(endpoint: ToolsetEndpoint): void;
  reopenStream(id: string): void;
  /** Closes every session, and those that are closing are waited for. Afterwards `get` throws. */
  closeAll(): Promise<void>;
}

const CLIENT_INFO: Implementation = { name: 'mcp-agent-api', version: '0.1.0' };

export function openPool(options: PoolOptions): SessionPool {
  return new Pool(options);
}

interface Member {
  readonly session: ToolsetSession;
  wanted: boolean;
}

class Pool implements SessionPool {
  readonly #options: PoolOptions;
  readonly #members = new Map<string, Member>();
  /** Counted apart from the members, because a generation may hold a toolset whose session was never opened. */
  readonly #holders = new Map<string, number>();
  readonly #closing = new Set<Promise<void>>();
  readonly #turnstile = new Turnstile();
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  get(endpoint: ToolsetEndpoint): ToolsetSession {
    const id = toolsetId(endpoint.name, endpoint.url);
    const member = this.#members.get(id);
    if (member !== undefined) {
      member.wanted = true;
      return member.session;
    }
    if (this.#closed) throw new CodedError('SESSION_CLOSED', 'All sessions were closed.', { toolset: endpoint.name });
    const { clock, logger, env, heartbeatSeconds, limits, clientInfo = CLIENT_INFO } = this.#options;
    const session = openSession({
      ...{ endpoint, clock, logger, env, heartbeatSeconds, clientInfo, turnstile: this.#turnstile },
      ...(limits !== undefined && { limits }),
      events: {
        signal: (kind) => this.#options.onSignal(id, kind),
        status: (status) => this.#options.onStatus(id, status),
        viewsChanged: (uri) => this.#options.onViewsChanged?.(id, uri),
      },
    });
    this.#members.set(id, { session, wanted: true });
    return session;
  }

  status(id: string): SessionStatus | undefined {
    return this.#members.get(id)?.session.status();
  }

  find(id: string): ToolsetSession | undefined {
    return this.#members.get(id)?.session;
  }

  dismiss(id: string): void {
    const member = this.#members.get(id);
    if (member === undefined) return;
    member.wanted = false;
    this.#closeUnneeded(id);
  }

  acquire(id: string): void {
    this.#holders.set(id, (this.#holders.get(id) ?? 0) + 1);
  }

  release(id: string): void {
    const holders = (this.#holders.get(id) ?? 0) - 1;
    if (holders > 0) this.#holders.set(id, holders);
    else this.#holders.delete(id);
    this.#closeUnneeded(id);
  }

  renew(endpoint: ToolsetEndpoint): void {
    this.#members.get(toolsetId(endpoint.name, endpoint.url))?.session.renew(endpoint);
  }

  reopenStream(id: string): void {
    this.#members.get(id)?.session.reopenStream();
  }

  async call(toolset: string, request: ToolCallRequest): Promise<ToolCallResult> {
    const member = this.#members.get(toolset);
    if (member === undefined) throw new CodedError('TOOL_GONE', `The toolset of "${request.tool}" is no longer connected.`);
    return member.session.call(request);
  }

  async closeAll(): Promise<void> {
    this.#closed = true;
    for (const id of [...this.#members.keys()]) this.#close(id);
    await Promise.all(this.#closing);
  }

  #closeUnneeded(id: string): void {
    if (this.#members.get(id)?.wanted === false && !this.#holders.has(id)) this.#close(id);
  }

  #close(id: string): void {
    const member = this.#members.get(id);
    if (member === undefined) return;
    this.#members.delete(id);
    const closing = member.session.close().catch((error: unknown) => {
      // A session that cannot be closed in order holds up nobody; its sockets are destroyed either way.
      this.#options.logger.debug('session not closed properly', { toolset: member.session.endpoint.name, reason: String(error) });
    });
    this.#closing.add(closing);
    closing.finally(() => this.#closing.delete(closing));
  }
}
