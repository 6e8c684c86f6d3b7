import { CodedError } from '../core/errors.js';
import type { Connection } from './connection.js';
import type { ConnectionKeeper } from './connection-keeper.js';
import { failureOf } from './failure.js';
import type { Occasion } from './occasion.js';
import { connected } from './session-calls.js';
import { meansLost } from './session-care.js';
import { firstOf, unlessAborted } from './time-limit.js';

/** Asks for one complete answer on one connection. */
export type Ask<T> = (connection: Connection, signal: AbortSignal) => Promise<T>;

type Outcome<T> = { readonly kind: 'whole'; readonly answer: T } | { readonly kind: 'failed'; readonly failure: CodedError };

export interface WholeAnswersOptions {
  readonly keeper: ConnectionKeeper;
  /** Whether this failure means that a user's call took the shared session. */
  readonly tookSession: (connection: Connection, failure: CodedError) => boolean;
}

/** How often one list may be started again because the connection under it was replaced. */
const MAX_RESTARTS = 3;

/** Complete answers (lists, views) over whatever connection of a session is in use. */
export class WholeAnswers {
  readonly #options: WholeAnswersOptions;

  constructor(options: WholeAnswersOptions) {
    this.#options = options;
  }

  /** For a tool list: it shows whatever was missed while there was no connection. */
  list<T>(ask: Ask<T>, signal: AbortSignal): Promise<T> {
    return this.#ask(ask, { occasion: 'list', signal });
  }

  /** For anything else: a connection that has to be made for it is a signal to list. */
  read<T>(ask: Ask<T>, signal: AbortSignal): Promise<T> {
    return this.#ask(ask, { occasion: 'call', signal });
  }

  /** What `ask` answers on the connection that is in use when it is complete. A session that is lost is made anew once. */
  async #ask<T>(ask: Ask<T>, { occasion, signal }: { readonly occasion: Occasion; readonly signal: AbortSignal }): Promise<T> {
    const { keeper } = this.#options;
    let replaced = false;
    for (let restarts = 0; ; ) {
      const connection = await connected(keeper, occasion, (connecting) => unlessAborted(connecting, signal));
      const outcome = await this.#once(ask, { connection, signal });
      // What a connection said that was replaced meanwhile, list or error, may be out of date: the new one is asked.
      if (connection !== keeper.current && restarts < MAX_RESTARTS && !keeper.closed) {
        restarts += 1;
        continue;
      }
      if (outcome.kind === 'whole') return outcome.answer;
      if (replaced) throw notLostAgain(outcome.failure);
      // Refused with headers that the index has replaced: a renewal that failed must not keep the old ones in use.
      const outdated = connection.endpoint !== keeper.endpoint;
      const lost = outdated || meansLost(outcome.failure) || this.#options.tookSession(connection, outcome.failure);
      if (!lost || keeper.closed) throw outcome.failure;
      replaced = true;
      await unlessAborted(keeper.replaceLost(connection, occasion), signal);
    }
  }

  /** One try on one connection. Rejects only when nobody waits for the answer any more. */
  async #once<T>(ask: Ask<T>, on: { readonly connection: Connection; readonly signal: AbortSignal }): Promise<Outcome<T>> {
    const { connection, signal } = on;
    // An answer of a connection that is replaced may never come, and would not count.
    const wanted = firstOf([signal, connection.outdated]);
    try {
      return { kind: 'whole', answer: await connection.use(() => ask(connection, wanted.signal)) };
    } catch (error) {
      if (signal.aborted) throw error;
      return { kind: 'failed', failure: failureOf(error, this.#options.keeper.endpoint.name) };
    } finally {
      wanted.end();
    }
  }
}

/** A session that is "lost" right after it was made was never the trouble: the toolset refuses us. */
function notLostAgain(failure: CodedError): CodedError {
  if (failure.code !== 'SESSION_LOST') return failure;
  const code = failure.status === undefined ? 'TOOLSET_PROTOCOL_ERROR' : 'TOOLSET_REFUSED';
  return new CodedError(code, failure.message, { toolset: failure.toolset, status: failure.status, cause: failure.cause });
}
