import type { Clock, Logger } from '../core/ports.js';
import type { Connection } from './connection.js';
import { failureOf } from './failure.js';
import { type NotificationStream, openNotificationStream } from './notification-stream.js';
import { onAbort, timeLimit } from './time-limit.js';

/** Views that are read together are subscribed to together. */
const GATHER_MS = 50;

/** A server that does not answer a subscription keeps nothing waiting. */
const SUBSCRIBE_MS = 10_000;

interface Watched {
  readonly uris: Set<string>;
  stream: NotificationStream | undefined;
  cancelOpening: (() => void) | undefined;
}

/**
 * Asks a server to tell when one of the views that were read changes, where it declares that it can (CONTRACT.md 8.3): by
 * `resources/subscribe` in the 2025 era, by a `subscriptions/listen` stream of its own in the 2026 era. What is missed because such a
 * stream broke is found when the toolset is listed again; reading the view then opens the stream again.
 */
export class ViewSubscriptions {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #uris = new Set<string>();
  readonly #watched = new WeakMap<Connection, Watched>();

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Another connection is in use: what was watched on the one before is watched on it. */
  connected(connection: Connection): void {
    for (const uri of this.#uris) void this.watch(connection, uri);
  }

  /** Resolves when the server was asked, before the view is read, so that no change falls between the two. Never rejects. */
  async watch(connection: Connection, uri: string): Promise<void> {
    if (!connection.facts.subscribesResources || connection.outdated.aborted) return;
    this.#uris.add(uri);
    const watched = this.#watchedOn(connection);
    const known = watched.uris.has(uri);
    watched.uris.add(uri);
    if (connection.facts.era === 'legacy') {
      if (!known) await this.#subscribe(connection, { watched, uri });
    } else if (!known || watched.stream === undefined) this.#openSoon(connection, watched);
  }

  #watchedOn(connection: Connection): Watched {
    const known = this.#watched.get(connection);
    if (known !== undefined) return known;
    const watched: Watched = { uris: new Set(), stream: undefined, cancelOpening: undefined };
    this.#watched.set(connection, watched);
    // A connection that was replaced may still have calls; its stream is of no use any more.
    onAbort(connection.outdated, () => {
      watched.cancelOpening?.();
      watched.stream?.close();
    });
    return watched;
  }

  async #subscribe(connection: Connection, { watched, uri }: { readonly watched: Watched; readonly uri: string }): Promise<void> {
    const limit = timeLimit({ clock: this.#clock, ms: SUBSCRIBE_MS, signal: connection.outdated });
    try {
      const reply = await connection.use(() => connection.ask('resources/subscribe', { uri }, limit.signal));
      if (reply.kind === 'error') this.#debug(connection, `JSON-RPC error ${reply.code}`);
    } catch (error) {
      // Without the subscription the view is read again when its toolset is listed; the next read asks once more.
      watched.uris.delete(uri);
      this.#debug(connection, failureOf(error, connection.endpoint.name).code);
    } finally {
      limit.end();
    }
  }

  #openSoon(connection: Connection, watched: Watched): void {
    watched.cancelOpening ??= this.#clock.after(GATHER_MS, () => {
      watched.cancelOpening = undefined;
      this.#open(connection, watched);
    });
  }

  /** The new stream is open before the one with fewer views is closed. */
  #open(connection: Connection, watched: Watched): void {
    const before = watched.stream;
    const stream = openNotificationStream({
      connection,
      clock: this.#clock,
      views: [...watched.uris],
      onOpen: () => before?.close(),
      onEnd: ({ kind }) => {
        before?.close();
        if (watched.stream === stream) watched.stream = undefined;
        this.#debug(connection, kind);
      },
    });
    watched.stream = stream;
  }

  #debug(connection: Connection, reason: string): void {
    this.#logger.debug('views not watched', { toolset: connection.endpoint.name, reason });
  }
}
