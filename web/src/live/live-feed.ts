import type { RefreshStatus } from '../../../src/core/status.js';
import type { FeedEvent } from '../../../src/http/event-schemas.js';
import { ApiProblem, askJson } from '../api.js';
import { followEvents } from '../event-stream.js';
import { secrets } from '../secrets.js';
import { Store } from '../store.js';
import { type Entry, type EventOf, withEvents } from './entries.js';

/** What `GET /connections` says, as far as the page shows it. */
export interface Connections {
  readonly toolsets: readonly {
    readonly name: string;
    readonly credentials: readonly { readonly header: string; readonly supplied: boolean }[];
  }[];
  readonly tools: readonly {
    readonly name: string;
    readonly toolset: string;
    readonly original: string;
    readonly description: string;
  }[];
  readonly withheld: readonly { readonly toolset: string; readonly tool: string; readonly reason: string }[];
}

/** Whether the page hears of events, and if not, why. */
export type Link = { readonly kind: 'connecting' } | { readonly kind: 'open' } | { readonly kind: 'closed'; readonly why: string };

export interface Live {
  readonly link: Link;
  readonly status: RefreshStatus | null;
  readonly connections: Connections | null;
  readonly entries: readonly Entry[];
}

/** While there is no stream, the status is read again this often at first and at last. */
const RETRY_FIRST_MS = 1_000;
const RETRY_LAST_MS = 5_000;

/** Events come in groups; the status is read once for each group. */
const GROUP_MS = 60;

/**
 * Follows the service: its status, what the model is shown, and everything that happens. The events say when to look; what is shown is always
 * the status that was read after them. Where the stream cannot be opened or breaks, the status is read every few seconds instead.
 */
export class LiveFeed {
  readonly live = new Store<Live>({ link: { kind: 'connecting' }, status: null, connections: null, entries: [] });
  #shownGeneration = 0;
  /** An id that the service does not know makes it send every event that it keeps. */
  #lastId = 'none';
  #pendingRead: number | undefined;
  #attempt = new AbortController();

  start(): void {
    // A new token is a new chance: the connection that was refused is tried again at once.
    secrets.subscribe(() => this.#attempt.abort());
    void this.#follow();
  }

  /** Reads the status now, after something that the page itself has caused. */
  readNow(): void {
    this.#readSoon();
  }

  async #follow(): Promise<void> {
    for (let waitMs = RETRY_FIRST_MS; ; waitMs = Math.min(waitMs * 2, RETRY_LAST_MS)) {
      this.#attempt = new AbortController();
      const { signal } = this.#attempt;
      try {
        await this.#readAll();
        await followEvents(`refresh/events?lastEventId=${encodeURIComponent(this.#lastId)}`, {
          signal,
          onOpen: () => {
            waitMs = RETRY_FIRST_MS;
            this.#change({ link: { kind: 'open' } });
            this.#readSoon();
          },
          onEvent: ({ id, data }) => {
            this.#lastId = id ?? this.#lastId;
            this.#receive(JSON.parse(data));
          },
        });
      } catch (error) {
        // The reason is shown, and the loop tries again.
        if (!signal.aborted) this.#change({ link: { kind: 'closed', why: reasonOf(error) } });
      }
      await pause(signal.aborted ? 0 : waitMs, this.#attempt.signal);
    }
  }

  #receive(event: FeedEvent): void {
    this.#add([event]);
    this.#readSoon();
  }

  #readSoon(): void {
    this.#pendingRead ??= window.setTimeout(() => {
      this.#pendingRead = undefined;
      // A read that fails is repeated with the next event, or by the loop when the stream breaks as well.
      this.#readAll().catch(() => undefined);
    }, GROUP_MS);
  }

  async #readAll(): Promise<void> {
    const status = await askJson<RefreshStatus>('refresh');
    this.#change({ status });
    if (status.last !== null) this.#add([{ type: 'round', id: `round-${status.last.round}`, ...status.last }]);
    if (status.generation === this.#shownGeneration) return;
    const [connections, generations] = await Promise.all([optional<Connections>('connections'), optional<Generations>('generations')]);
    this.#change({ connections });
    this.#add(eventsOf(generations, status));
    this.#shownGeneration = status.generation;
  }

  #add(events: readonly FeedEvent[]): void {
    this.#change({ entries: withEvents(this.live.get().entries, events) });
  }

  #change(part: Partial<Live>): void {
    this.live.set({ ...this.live.get(), ...part });
  }
}

/** Null where the service has no such route, or nothing to say yet. */
async function optional<T>(path: string): Promise<T | null> {
  try {
    return await askJson<T>(path);
  } catch (error) {
    if (error instanceof ApiProblem && (error.status === 404 || error.status === 503)) return null;
    throw error;
  }
}

/** What `GET /generations` answers, as far as the page shows it. */
interface Generations {
  readonly generations: readonly Omit<EventOf<'generation'>, 'id' | 'type' | 'previous'>[];
  readonly decisions: readonly Omit<EventOf<'decision'>, 'id' | 'type'>[];
}

/** The history as the events that once told of it; the last swap alone where the service keeps none. */
function eventsOf(history: Generations | null, { last, fingerprint, builtAt }: RefreshStatus): FeedEvent[] {
  if (history !== null) {
    const { generations, decisions } = history;
    return [
      ...generations.map((line) => ({ ...line, type: 'generation' as const, id: `generation-${line.number}`, previous: null })),
      ...decisions.map((line) => ({ ...line, type: 'decision' as const, id: `decision-${line.fingerprint}` })),
    ];
  }
  if (last?.outcome !== 'swapped' || fingerprint === null || builtAt === null) return [];
  const { generation: number, trigger, changes, toolsets } = last;
  const what = { number, fingerprint, previous: null, trigger, changes, swapped: toolsets.swapped };
  return [{ type: 'generation', id: `generation-${number}`, at: builtAt, ...what }];
}

function reasonOf(error: unknown): string {
  return error instanceof ApiProblem ? error.message : 'The service cannot be reached.';
}

function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = window.setTimeout(resolve, durationMs);
    signal.addEventListener('abort', () => {
      window.clearTimeout(timer);
      resolve();
    });
  });
}
