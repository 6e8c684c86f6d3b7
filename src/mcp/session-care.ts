import { ProtocolError } from '@modelcontextprotocol/client';
import type { CodedError } from '../core/errors.js';
import type { Clock } from '../core/ports.js';
import type { Connection } from './connection.js';
import { failureOfRpcError } from './failure.js';
import type { SessionLimits } from './session-limits.js';
import { timeLimit } from './time-limit.js';

export interface CareOptions {
  readonly clock: Clock;
  readonly limits: SessionLimits;
  /** 0 turns the heartbeat off. */
  readonly heartbeatSeconds: number;
  /** Called when a heartbeat is due; the next one is due an interval after it is done. Must not reject. */
  readonly beat: () => Promise<void>;
  /** Called when the session has reached its age. */
  readonly renew: () => void;
}

/** HTTP statuses with which servers answer for a session that they do not know, besides those that say so (CONTRACT.md 4.5). */
const LOST_STATUS: ReadonlySet<number | undefined> = new Set([400, 404, 405, 410]);

/** True when a request that any server of this session answers was refused in such a way that the session may be lost. */
export function meansLost(failure: CodedError): boolean {
  return failure.code === 'SESSION_LOST' || LOST_STATUS.has(failure.status);
}

/** True when a tool call was refused in a way in which servers also refuse what comes on a session that they do not know. */
export function mayBeLost(failure: CodedError): boolean {
  if (failure.status !== undefined) return LOST_STATUS.has(failure.status);
  return failure.cause instanceof ProtocolError && (failure.cause.code === -32600 || failure.cause.code === -32001);
}

/** The two timers of a session (CONTRACT.md 4.6): a heartbeat while it is watching, and a renewal when it is old. */
export class SessionCare {
  readonly #options: CareOptions;
  #cancelBeat: (() => void) | undefined;
  #cancelRenewal: (() => void) | undefined;

  constructor(options: CareOptions) {
    this.#options = options;
  }

  /** Begins anew, for a session that is like this from now on. */
  start(push: 'watching' | 'polling'): void {
    const { renewMs, pollingRenewMs } = this.#options.limits;
    this.renewIn(push === 'watching' ? renewMs : pollingRenewMs);
    this.#cancelBeat?.();
    if (push === 'watching' && this.#options.heartbeatSeconds > 0) this.#armBeat();
  }

  stop(): void {
    this.#cancelBeat?.();
    this.#cancelRenewal?.();
  }

  renewIn(ms: number): void {
    this.#cancelRenewal?.();
    this.#cancelRenewal = this.#options.clock.after(this.#jittered(ms), this.#options.renew);
  }

  /** Asks the server something that it answers only when it knows the session. Throws when it does not answer in time, or an error. */
  async ask(connection: Connection, signal: AbortSignal): Promise<void> {
    const limit = timeLimit({ clock: this.#options.clock, ms: this.#options.limits.heartbeatAnswerMs, signal });
    try {
      const reply = await connection.ask(connection.facts.era === 'modern' ? 'server/discover' : 'ping', {}, limit.signal);
      if (reply.kind === 'error') throw failureOfRpcError({ toolset: connection.endpoint.name, ...reply });
    } finally {
      limit.end();
    }
  }

  #armBeat(): void {
    let cancelled = false;
    const cancelTimer = this.#options.clock.after(this.#jittered(this.#options.heartbeatSeconds * 1_000), () => {
      this.#options.beat().then(() => {
        if (!cancelled) this.#armBeat();
      });
    });
    this.#cancelBeat = () => {
      cancelled = true;
      cancelTimer();
    };
  }

  /** Up to a tenth more or less. */
  #jittered(ms: number): number {
    return ms * (0.9 + this.#options.clock.random() / 5);
  }
}
