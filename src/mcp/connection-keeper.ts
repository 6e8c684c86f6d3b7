import type { Implementation } from '@modelcontextprotocol/client';
import { CodedError } from '../core/errors.js';
import type { Clock, Logger, SessionStatus, ToolsetEndpoint } from '../core/ports.js';
import type { JsonObject } from '../core/tool.js';
import type { Turnstile } from '../turnstile.js';
import { Connection } from './connection.js';
import type { Environment } from './dispatcher.js';
import { failureOf } from './failure.js';
import { mayHaveMissed, type Occasion } from './occasion.js';
import type { ServerFacts } from './server-facts.js';
import { meansLost, SessionCare } from './session-care.js';
import type { SessionLimits } from './session-limits.js';
import { StreamKeeper } from './stream-keeper.js';

export interface ConnectionKeeperOptions {
  readonly endpoint: ToolsetEndpoint;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly env: Environment;
  readonly turnstile: Turnstile;
  readonly heartbeatSeconds: number;
  readonly clientInfo: Implementation;
  readonly limits: SessionLimits;
  readonly onMessage: (message: JsonObject) => void;
  readonly onStatus: (status: SessionStatus) => void;
  /** Something may have changed unheard. */
  readonly onMissed: () => void;
  /** Another connection is in use from now on. Must return at once. */
  readonly onConnected: (connection: Connection) => void;
}

/**
 * Owns the connections of one session: at most one in use, one being made, and old ones that end when their last call has
 * (CONTRACT.md 4.5 to 4.7). A new connection is complete, with its stream open, before it takes the old one's place.
 */
export class ConnectionKeeper {
  readonly #options: ConnectionKeeperOptions;
  readonly #stream: StreamKeeper;
  readonly #care: SessionCare;
  readonly #life = new AbortController();
  readonly #open = new Set<Connection>();
  #endpoint: ToolsetEndpoint;
  #push: SessionStatus['push'] = 'connecting';
  #facts: ServerFacts | undefined;
  #current: Connection | undefined;
  #opening: { readonly endpoint: ToolsetEndpoint; readonly done: Promise<void> } | undefined;
  /** The status that the owner was told last, so that it is told of changes only. */
  #told = '';

  constructor(options: ConnectionKeeperOptions) {
    this.#options = options;
    this.#endpoint = options.endpoint;
    const { clock, limits, logger } = options;
    this.#stream = new StreamKeeper({
      ...{ clock, limits, logger },
      owner: {
        hears: (yes) => this.#setPush(yes ? 'watching' : 'polling'),
        missed: options.onMissed,
        replace: (connection, why) => this.#replaceForStream(connection, why),
        renewSoon: () => this.#care.renewIn(limits.renewSoonMs),
      },
    });
    this.#care = new SessionCare({
      ...{ clock, limits, heartbeatSeconds: options.heartbeatSeconds },
      beat: () => this.#beat(),
      renew: () => this.#renewNow('renewal'),
    });
  }

  get endpoint(): ToolsetEndpoint {
    return this.#endpoint;
  }

  /** The connection in use, if there is one. One whose session is known to be lost counts no longer. */
  get current(): Connection | undefined {
    return this.#current?.outdated.aborted ? undefined : this.#current;
  }

  get closed(): boolean {
    return this.#life.signal.aborted;
  }

  status(): SessionStatus {
    return { push: this.#push, protocol: this.#facts?.protocol, server: this.#facts?.server };
  }

  reopenStream(): void {
    this.#stream.reopenNow();
  }

  /** The toolset answers again: its stream need not wait any longer. After silence, one that seems to be open may be dead on its socket. */
  toolsetIsBack(after: 'failures' | 'silence'): void {
    if (after === 'silence' && this.#push === 'watching') this.#renewNow('stream');
    else this.#stream.toolsetIsBack();
  }

  renew(endpoint: ToolsetEndpoint): void {
    this.#endpoint = endpoint;
    if (this.#current !== undefined || this.#opening !== undefined) this.#renewNow('headers');
    // What kept a connection from being made may be over with the new headers; the next list tells.
    else this.#options.onMissed();
  }

  async close(): Promise<void> {
    this.#life.abort(this.closedError());
    this.#care.stop();
    this.#stream.detach();
    this.#current = undefined;
    this.#setPush('closed');
    // An attempt that is under way was told to stop; how it ends does not matter.
    await this.#opening?.done.catch(() => undefined);
    await Promise.all([...this.#open].map((connection) => connection.close('known')));
  }

  /** Makes a new connection the one in use. Callers that come meanwhile share the attempt, unless the endpoint changed. */
  establish(occasion: Occasion): Promise<void> {
    if (this.closed) return Promise.reject(this.closedError());
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

  /** Replaces a connection whose session is lost, once, however many callers met it. When that fails, there is no connection any more. */
  async replaceLost(connection: Connection, occasion: Occasion): Promise<void> {
    if (this.#current !== undefined && this.#current !== connection) return;
    connection.outdate();
    try {
      await this.establish(occasion);
    } catch (error) {
      if (this.#current === connection) {
        this.#current = undefined;
        this.#care.stop();
        this.#stream.detach();
        void this.#letGo(connection, 'lost');
        this.#setPush('connecting');
        if (occasion !== 'list') this.#options.onMissed();
      }
      throw error;
    }
  }

  closedError(): CodedError {
    const { name } = this.#endpoint;
    return new CodedError('SESSION_CLOSED', `The session with toolset "${name}" was closed.`, { toolset: name });
  }

  async #openConnection(endpoint: ToolsetEndpoint, occasion: Occasion): Promise<void> {
    const { probeMs, connectMs } = this.#options.limits;
    const connection = await Connection.open({ ...this.#options, endpoint, probeMs, connectMs, signal: this.#life.signal });
    this.#open.add(connection);
    const watch = await this.#stream.prepare(connection);
    if (this.closed) {
      this.#stream.discard(watch);
      await this.#letGo(connection, 'known');
      throw this.closedError();
    }
    const before = { connection: this.#current, facts: this.#facts };
    this.#current = connection;
    this.#facts = connection.facts;
    const hears = this.#stream.adopt(watch);
    const session = occasion === 'list' || occasion === 'call' ? 'lost' : 'known';
    if (before.connection !== undefined) void this.#letGo(before.connection, session);
    this.#setPush(hears ? 'watching' : 'polling');
    this.#options.onConnected(connection);
    if (mayHaveMissed(occasion, { before: before.facts, now: connection.facts })) this.#options.onMissed();
  }

  /** Ends a connection once its calls have ended. Never rejects. */
  async #letGo(connection: Connection, session: 'known' | 'lost'): Promise<void> {
    try {
      await connection.retire(session);
    } catch (error) {
      // Its sockets are gone either way; nobody waits for a connection that is no longer used.
      this.#debug('connection not closed properly', error);
    } finally {
      this.#open.delete(connection);
    }
  }

  async #replaceForStream(connection: Connection, why: 'lost' | 'reopen'): Promise<'replaced' | 'kept' | 'dropped'> {
    try {
      if (why === 'lost') await this.replaceLost(connection, 'stream');
      else await this.establish('stream');
      return 'replaced';
    } catch (error) {
      // The owner was told by a signal, or is told by the stream's keeper; its next list shows whether the toolset answers at all.
      this.#debug('no new connection', error);
      return this.#current === connection ? 'kept' : 'dropped';
    }
  }

  /** Finds out whether the server still knows the session. Never rejects. */
  async #beat(): Promise<void> {
    const connection = this.#current;
    if (connection === undefined) return;
    try {
      await connection.use(() => this.#care.ask(connection, this.#life.signal));
    } catch (error) {
      // Other failures are left to the lists: a heartbeat looks for lost sessions only.
      const failure = failureOf(error, this.#endpoint.name);
      const lost = failure.code === 'SESSION_LOST' || (connection.facts.era === 'modern' && meansLost(failure));
      if (lost && !this.closed)
        await this.replaceLost(connection, 'heartbeat').catch((cause: unknown) => this.#debug('no new connection', cause));
    }
  }

  #renewNow(occasion: 'renewal' | 'headers' | 'stream'): void {
    this.establish(occasion).catch((error: unknown) => {
      // The connection that we have stays in use; the renewal is tried again before long.
      this.#debug('session not renewed', error);
      if (this.#current !== undefined) this.#care.renewIn(this.#options.limits.renewSoonMs);
    });
  }

  #setPush(push: SessionStatus['push']): void {
    this.#push = push;
    if (push === 'watching' || push === 'polling') this.#care.start(push);
    const told = JSON.stringify(this.status());
    if (told === this.#told) return;
    this.#told = told;
    this.#options.onStatus(this.status());
  }

  #debug(message: string, error: unknown): void {
    this.#options.logger.debug(message, { toolset: this.#endpoint.name, code: failureOf(error, this.#endpoint.name).code });
  }
}
