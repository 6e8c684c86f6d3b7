import type { RefreshStatus } from '../../../src/core/status.js';
import { ApiProblem, askJson } from '../api.js';
import { followEvents } from '../event-stream.js';
import { secrets } from '../secrets.js';
import { Store } from '../store.js';
import { type Entry, type FeedEvent, type GenerationLine, withEvents } from './entries.js';

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
  #lastId: string | undefined;
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
        await followEvents(
          this.#lastId === undefined ? 'refresh/events' : `refresh/events?lastEventId=${encodeURIComponent(this.#lastId)}`,
          {
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
          },
        );
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
    const [connections, generations] = await Promise.all([optional<Connections>('connections'), optional<object>('generations')]);
    this.#change({ connections });
    this.#add(generationEvents(generations, status));
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

function generationEvents(answer: object | null, { last }: RefreshStatus): FeedEvent[] {
  if (answer !== null && 'generations' in answer && Array.isArray(answer.generations)) {
    const lines: readonly (GenerationLine & { readonly at: string })[] = answer.generations;
    return lines.map((line) => ({ type: 'generation', id: `generation-${line.number}`, ...line }));
  }
  if (last === null || last.outcome !== 'swapped') return [];
  const { generation: number, at, trigger, changes, toolsets } = last;
  return [{ type: 'generation', id: `generation-${number}`, at, number, trigger, changes, swapped: toolsets.swapped }];
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
