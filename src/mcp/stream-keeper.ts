import type { Clock, Logger } from '../core/ports.js';
import type { Connection } from './connection.js';
import { type NotificationStream, openNotificationStream, type StreamEnd } from './notification-stream.js';
import type { SessionLimits } from './session-limits.js';
import { settledWithin } from './time-limit.js';

/** What the keeper tells the session that it works for. */
export interface StreamOwner {
  /** Changes are heard from now on, or no longer. */
  hears(yes: boolean): void;
  /** Something may have been missed while the stream was not open. */
  missed(): void;
  /** Asks for another connection in place of this one, because its session is lost or because that is how this era opens a stream again. Never rejects. */
  replace(connection: Connection, why: 'lost' | 'reopen'): Promise<'replaced' | 'kept' | 'dropped'>;
  /** The server that pushed no longer does; it may be another one by now. */
  renewSoon(): void;
}

/** A stream may be closed for so long before its toolset no longer counts as watched. */
const SILENT_MS = 1_000;

/** A connection and the stream on it. */
interface Watch {
  readonly connection: Connection;
  stream: NotificationStream | undefined;
  open: boolean;
  wasOpen: boolean;
  end: StreamEnd | undefined;
}

/**
 * Keeps the notification stream of the current connection open (CONTRACT.md 4.4): whatever ends it leads to another attempt,
 * after a wait that grows while attempts fail or streams end at once, and without limit of attempts.
 */
export class StreamKeeper {
  readonly #clock: Clock;
  readonly #limits: SessionLimits;
  readonly #logger: Logger;
  readonly #owner: StreamOwner;
  #current: Watch | undefined;
  #hears = false;
  #attempts = 0;
  #openedAt: number | undefined;
  #cancelWait: (() => void) | undefined;

  constructor(options: { readonly clock: Clock; readonly limits: SessionLimits; readonly logger: Logger; readonly owner: StreamOwner }) {
    this.#clock = options.clock;
    this.#limits = options.limits;
    this.#logger = options.logger;
    this.#owner = options.owner;
  }

  /** Opens the stream of a connection that is not in use yet; waits until its fate is known, but not for long. */
  async prepare(connection: Connection): Promise<Watch> {
    const watch: Watch = { connection, stream: undefined, open: false, wasOpen: false, end: undefined };
    const stream = this.#openOn(watch);
    await settledWithin({ clock: this.#clock, ms: this.#limits.streamOpenMs, promise: stream.settled });
    return watch;
  }

  /** Makes a prepared watch the current one; the stream of the one before is closed. Answers whether changes are heard. */
  adopt(watch: Watch): boolean {
    this.detach();
    this.#current = watch;
    this.#hears = watch.open && watch.connection.facts.announces;
    if (watch.open) this.#openedAt = this.#clock.now();
    if (watch.end !== undefined) this.#ended(watch, watch.end);
    return this.#hears;
  }

  /** Closes the current stream and forgets its connection. */
  detach(): void {
    this.#cancelWait?.();
    this.#cancelWait = undefined;
    this.#noteStability();
    if (this.#current !== undefined) this.discard(this.#current);
    this.#current = undefined;
    this.#hears = false;
  }

  /** Closes the stream of a watch that will not be adopted. */
  discard(watch: Watch): void {
    watch.stream?.close();
    watch.stream = undefined;
  }

  /** Closes the stream and opens it anew, although it seems to be open. */
  reopenNow(): void {
    const watch = this.#current;
    if (watch === undefined) return;
    this.#cancelWait?.();
    this.discard(watch);
    watch.open = false;
    this.#reopen(watch);
  }

  /** The toolset answers again: a stream that waits for its next attempt is opened now. */
  toolsetIsBack(): void {
    const watch = this.#current;
    // The failures of one outage say nothing about the next one.
    this.#attempts = 0;
    if (watch === undefined || this.#cancelWait === undefined || watch.end?.kind === 'refused') return;
    this.#cancelWait();
    this.#reopen(watch);
  }

  #openOn(watch: Watch): NotificationStream {
    watch.end = undefined;
    const stream = openNotificationStream({
      connection: watch.connection,
      clock: this.#clock,
      onOpen: () => {
        watch.open = true;
        watch.wasOpen = true;
        if (watch === this.#current) this.#opened();
      },
      onEnd: (end) => {
        watch.open = false;
        watch.stream = undefined;
        watch.end = end;
        if (watch === this.#current) this.#ended(watch, end);
      },
    });
    watch.stream = stream;
    return stream;
  }

  #opened(): void {
    this.#openedAt = this.#clock.now();
    // A stream on which the server does not promise to tell of changes is kept, since some tell all the same, but it is not relied on.
    if (!this.#hears && this.#current?.connection.facts.announces) {
      this.#hears = true;
      this.#owner.hears(true);
    }
    this.#owner.missed();
  }

  #ended(watch: Watch, end: StreamEnd): void {
    this.#noteStability();
    this.#logger.debug('notification stream ended', { toolset: watch.connection.endpoint.name, how: end.kind });
    switch (end.kind) {
      case 'ended': {
        const first = this.#attempts === 0;
        const delayMs = Math.max(this.#nextDelay(), end.retryMs ?? 0);
        // Only the first attempt to open it again is made before anybody is told, and only if it is made soon.
        if (!first || delayMs > SILENT_MS) this.#goDeaf();
        this.#wait(watch, delayMs);
        return;
      }
      case 'silent':
        this.#wait(watch, this.#nextDelay());
        return;
      case 'failed':
        this.#goDeaf();
        this.#wait(watch, this.#nextDelay());
        return;
      case 'lost':
        // A server that answers the very first attempt so merely has no stream.
        if (watch.wasOpen) this.#reopen(watch);
        else this.#refused(watch, 'rarely');
        return;
      case 'refused':
        this.#refused(watch, end.retry);
    }
  }

  #refused(watch: Watch, retry: 'never' | 'rarely'): void {
    this.#goDeaf();
    if (watch.wasOpen) this.#owner.renewSoon();
    else if (retry === 'rarely') this.#wait(watch, this.#limits.refusedMs * (1 + this.#clock.random() / 10));
  }

  #goDeaf(): void {
    if (!this.#hears) return;
    this.#hears = false;
    this.#owner.hears(false);
    this.#owner.missed();
  }

  #wait(watch: Watch, delayMs: number): void {
    this.#cancelWait?.();
    this.#cancelWait = this.#clock.after(delayMs, () => {
      if (watch === this.#current) this.#reopen(watch);
    });
  }

  #reopen(watch: Watch): void {
    this.#cancelWait = undefined;
    const lost = watch.end?.kind === 'lost';
    // In the 2026 era nothing but a new handshake shows that another server answers by now.
    const isAnother = watch.connection.facts.era === 'modern' && watch.wasOpen;
    if (!lost && !isAnother && watch.end?.kind !== 'silent') {
      void this.#openAgain(watch);
      return;
    }
    this.#owner.replace(watch.connection, lost ? 'lost' : 'reopen').then((outcome) => {
      if (outcome !== 'kept' || watch !== this.#current) return;
      this.#goDeaf();
      this.#wait(watch, this.#nextDelay());
    });
  }

  /** Opens the stream on the same connection. An attempt that stays without an answer may yet succeed, but until then nothing is heard. */
  async #openAgain(watch: Watch): Promise<void> {
    const stream = this.#openOn(watch);
    await settledWithin({ clock: this.#clock, ms: this.#limits.streamOpenMs, promise: stream.settled });
    if (watch === this.#current && watch.stream === stream && !watch.open) this.#goDeaf();
  }

  /** Full jitter for the first attempt, half jitter for the later ones. */
  #nextDelay(): number {
    const { reopenMinMs, reopenMaxMs } = this.#limits;
    const baseMs = Math.min(reopenMinMs * 2 ** Math.min(this.#attempts, 20), reopenMaxMs);
    const delayMs = this.#attempts === 0 ? this.#clock.random() * baseMs : (baseMs / 2) * (1 + this.#clock.random());
    this.#attempts += 1;
    return delayMs;
  }

  #noteStability(): void {
    if (this.#openedAt !== undefined && this.#clock.now() - this.#openedAt >= this.#limits.stableMs) this.#attempts = 0;
    this.#openedAt = undefined;
  }
}
