import type { RequestHandler } from 'express';
import type { Clock, LiveAgents } from '../core/ports.js';
import type { RoundRecord } from '../core/status.js';
import type { Caller, Callers } from './caller.js';
import type { FeedEvent } from './event-schemas.js';
import { openEventStream } from './event-stream.js';
import { Problem } from './problem.js';
import { shownRound } from './refresh.js';

/** So many events are kept for clients that come back. */
const KEPT = 256;

/** After a break, clients come back this soon. */
const RETRY_MS = 1_000;

type WithoutBase<Event> = Event extends FeedEvent ? Omit<Event, 'id'> : never;
type News = WithoutBase<FeedEvent>;

interface Kept {
  readonly sequence: number;
  readonly event: FeedEvent;
}

/** Everything that happens to generations, toolsets and the index, in order, with the newest events kept for replay (CONTRACT.md 9). */
export class EventFeed {
  readonly #clock: Clock;
  /** Tells the ids of this process from those of an earlier one. */
  readonly #epoch: string;
  readonly #kept: Kept[] = [];
  readonly #waiting = new Set<() => void>();
  #last = 0;
  #closed = false;

  constructor(live: LiveAgents<unknown>, clock: Clock) {
    this.#clock = clock;
    this.#epoch = clock.date().getTime().toString(36);
    this.#follow(live);
  }

  /** After close, streams end; clients come back to another process. */
  close(): void {
    this.#closed = true;
    this.#wake();
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Where to go on after the event of this id. Without an id, with what comes next; after an id that is not known, with everything that is kept. */
  cursorAfter(id: string | undefined): number {
    if (id === undefined) return this.#last;
    const [epoch, sequence] = id.split('-');
    const known = Number(sequence);
    return epoch === this.#epoch && Number.isInteger(known) && known >= 0 && known <= this.#last ? known : 0;
  }

  /** The kept events after the cursor, and the cursor after them. */
  since(cursor: number): { readonly events: readonly FeedEvent[]; readonly cursor: number } {
    const events = this.#kept.filter(({ sequence }) => sequence > cursor).map(({ event }) => event);
    return { events, cursor: this.#last };
  }

  /** Resolves when there is an event after the cursor, the feed is closed, or the signal is aborted. */
  next(cursor: number, signal: AbortSignal): Promise<void> {
    if (this.#last > cursor || this.#closed || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake);
    });
  }

  #follow(live: LiveAgents<unknown>): void {
    const now = () => this.#clock.date().toISOString();
    const round = (record: RoundRecord) => this.#add({ ...record, type: 'round' });
    for (const outcome of ['held', 'unchanged', 'aborted', 'rejected'] as const) live.on?.(outcome, round);
    live.on?.('swapped', ({ generation, previous, round: record }) => {
      round(record);
      const { number, fingerprint, builtAt } = generation;
      const { trigger, toolsets, changes } = record;
      const what = { trigger, swapped: toolsets.swapped, changes };
      this.#add({ type: 'generation', at: builtAt.toISOString(), number, fingerprint, previous: previous?.number ?? null, ...what });
    });
    live.on?.('toolset', ({ toolset, from, to, error }) =>
      this.#add({ type: 'toolset', at: now(), toolset, from, to, code: error?.code ?? null }),
    );
    live.on?.('missed', ({ toolset, missedSignals }) => this.#add({ type: 'missed', at: now(), toolset, missedSignals }));
    live.on?.('waiting', (held) => this.#add({ type: 'held', at: now(), ...held }));
    live.on?.('decided', (made) => this.#add({ type: 'decision', at: now(), ...made }));
    live.on?.('view', ({ toolset, uri, from, to }) => this.#add({ type: 'view', at: now(), toolset, uri, from, to }));
    live.on?.('index', ({ error }) => this.#add({ type: 'index', at: now(), code: error?.code ?? null }));
    live.on?.('released', ({ number }) => this.#add({ type: 'released', at: now(), generation: number }));
  }

  #add(news: News): void {
    this.#last += 1;
    this.#kept.push({ sequence: this.#last, event: { id: `${this.#epoch}-${this.#last}`, ...news } as FeedEvent });
    if (this.#kept.length > KEPT) this.#kept.shift();
    this.#wake();
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}

/** `GET /refresh/events`: the feed as server-sent events. A client that reads slowly misses the oldest events, and nobody waits for it. */
export function eventsRoute(feed: EventFeed | undefined, callers: Callers, clock: Clock): RequestHandler {
  return async (req, res) => {
    if (feed === undefined) throw new Problem(404, 'not_available', 'This host keeps its agent current itself.');
    const caller = callers.callerOf(req);
    const asked = req.query.lastEventId ?? req.get('last-event-id');
    let cursor = feed.cursorAfter(asked === undefined ? undefined : String(asked));
    const gone = new AbortController();
    res.once('close', () => gone.abort());
    const stream = openEventStream(res, clock);
    // Sent at once, so that a client knows that it is connected before anything happens.
    await stream.send(`retry: ${RETRY_MS}\n\n`, gone.signal);
    while (!gone.signal.aborted && !feed.closed) {
      const found = feed.since(cursor);
      cursor = found.cursor;
      if (found.events.length > 0) await stream.send(found.events.map((event) => written(event, caller)).join(''), gone.signal);
      await feed.next(cursor, gone.signal);
    }
    stream.end();
  };
}

function written(event: FeedEvent, caller: Caller): string {
  const shown = event.type === 'round' ? { ...event, error: shownRound(event, caller).error } : event;
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(shown)}\n\n`;
}
