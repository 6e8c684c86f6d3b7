import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { CodedError } from '../core/errors.js';
import type { Clock, Logger, ReadView, ServedView, ViewSource } from '../core/ports.js';
import type { ViewChange } from '../core/refresher-events.js';
import { silentLogger } from '../core/silent-logger.js';
import { urisOfPath } from '../core/view.js';
import { systemClock } from '../system-clock.js';
import { contentOf, ToolsetViews, type ViewEntry } from './toolset-views.js';
import { ViewVersions } from './view-versions.js';

export interface ViewCacheOptions {
  /** Reads one view from its toolset. */
  readonly read: (toolset: string, uri: string, signal: AbortSignal) => Promise<ReadView>;
  /** What a toolset's resource list declares that its views may load, raw, by URI. Asked when a page says nothing itself. */
  readonly policies?: (toolset: string, signal: AbortSignal) => Promise<ReadonlyMap<string, unknown>>;
  /** A toolset's views are not read again sooner than this after the last time, in seconds. Default 0. */
  readonly everySeconds?: number;
  /** The bound on one read, in seconds. Default 10. */
  readonly timeoutSeconds?: number;
  /** How long a replaced content stays available by its hash, in seconds. Default 3600. */
  readonly keepSeconds?: number;
  /** How many bytes of replaced contents are kept in all. Default 64 MiB. */
  readonly keepBytes?: number;
  readonly onChanged?: (change: ViewChange) => void;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/** Reads of one toolset's views that are in flight at once. */
const READS = 4;

const compress = promisify(gzip);

/**
 * The views of all toolsets (CONTRACT.md 8): read when somebody asks for them first, read again on request, and kept when that fails. Two
 * toolsets with the same URI never mix. Nothing is read before it is asked for.
 */
export class ViewCache implements ViewSource {
  readonly #options: ViewCacheOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #keepMs: number;
  readonly #toolsets = new Map<string, ToolsetViews>();
  readonly #versions: ViewVersions;
  readonly #closed = new AbortController();

  constructor(options: ViewCacheOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? silentLogger;
    this.#keepMs = (options.keepSeconds ?? 3_600) * 1_000;
    this.#versions = new ViewVersions({ clock: this.#clock, keepMs: this.#keepMs, keepBytes: options.keepBytes ?? 64 * 1024 * 1024 });
  }

  /** The views that a toolset's tools name now. One that nobody names any more stays available for `keepSeconds`. */
  name(toolset: string, uris: readonly string[]): void {
    if (uris.length === 0 && !this.#toolsets.has(toolset)) return;
    const dropped = this.#viewsOf(toolset).name(uris, { now: this.#clock.now(), keepMs: this.#keepMs });
    for (const view of dropped) this.#versions.add(view);
  }

  /** The toolset is gone. What it served stays available by hash for `keepSeconds`. */
  forget(toolset: string): void {
    for (const { content } of this.#toolsets.get(toolset)?.entries.values() ?? []) if (content !== undefined) this.#versions.add(content);
    this.#toolsets.delete(toolset);
  }

  find(toolset: string, view: string): string | undefined {
    const views = this.#toolsets.get(toolset);
    return views && urisOfPath(toolset, view).find((uri) => views.knows(uri));
  }

  async get(toolset: string, uri: string): Promise<ServedView> {
    const views = this.#viewsOf(toolset);
    const entry = views.entry(uri);
    if (entry.content !== undefined) return entry.content;
    entry.coldRead ??= this.#read(views, { entry, policies: () => this.#readPolicies(views) }).finally(() => {
      entry.coldRead = undefined;
    });
    return entry.coldRead;
  }

  version(wanted: { readonly toolset: string; readonly uri: string; readonly hash: string }): ServedView | undefined {
    const live = this.#toolsets.get(wanted.toolset)?.entries.get(wanted.uri)?.content;
    return live?.hash === wanted.hash ? live : this.#versions.find(wanted);
  }

  async hashSoon(toolset: string, uri: string, waitMs: number): Promise<string | null> {
    const entry = this.#viewsOf(toolset).entry(uri);
    if (entry.content !== undefined) return entry.content.hash;
    // Whoever asks for the view itself is told why it cannot be read.
    const reading = this.get(toolset, uri).then(
      ({ hash }) => hash,
      () => null,
    );
    if (entry.waitedFor === 'yes') return null;
    entry.waitedFor = 'yes';
    let cancel: () => void = () => undefined;
    const late = new Promise<null>((resolve) => {
      cancel = this.#clock.after(waitMs, () => resolve(null));
    });
    return Promise.race([reading, late]).finally(cancel);
  }

  /**
   * Reads the views of a toolset that were read before once more, or only the one of this URI. Resolves when a re-read that began after the
   * call has ended, whatever came of it; callers share it. A view that cannot be read keeps the content that it had.
   */
  reread(toolset: string, uri?: string): Promise<void> {
    const views = this.#toolsets.get(toolset);
    if (views === undefined || views.entries.size === 0) return Promise.resolve();
    if (uri !== undefined && !views.entries.has(uri)) return Promise.resolve();
    views.makeDue(uri);
    views.next ??= this.#rereadAfterCurrent(views);
    return views.next;
  }

  /** Ends every read. */
  close(): void {
    this.#closed.abort(new CodedError('SESSION_CLOSED', 'The views are no longer read.'));
  }

  async #rereadAfterCurrent(views: ToolsetViews): Promise<void> {
    await views.current;
    await this.#pause(views.startedAt + (this.#options.everySeconds ?? 0) * 1_000 - this.#clock.now());
    views.next = undefined;
    views.startedAt = this.#clock.now();
    views.current = this.#rereadNow(views).finally(() => {
      views.current = undefined;
    });
    await views.current;
  }

  async #pause(ms: number): Promise<void> {
    const { signal } = this.#closed;
    if (!(ms > 0) || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(ms, () => {
        signal.removeEventListener('abort', stop);
        resolve();
      });
      const stop = () => {
        cancel();
        resolve();
      };
      signal.addEventListener('abort', stop, { once: true });
    });
  }

  async #rereadNow(views: ToolsetViews): Promise<void> {
    const entries = [...views.takeDue()];
    let listing: Promise<void> | undefined;
    const policies = () => {
      listing ??= this.#readPolicies(views);
      return listing;
    };
    const readOn = async (): Promise<void> => {
      for (let entry = entries.shift(); entry !== undefined && !this.#closed.signal.aborted; entry = entries.shift()) {
        try {
          // A first read that is under way may have missed the change.
          await entry.coldRead?.catch(() => undefined);
          await this.#read(views, { entry, policies });
        } catch (error) {
          // The content that it had stays, and the next list of the toolset leads to another try.
          this.#logger.warn('view not read', { toolset: views.toolset, uri: entry.uri, code: codeOf(error) });
        }
      }
    };
    await Promise.all(Array.from({ length: READS }, readOn));
  }

  async #read(views: ToolsetViews, how: { readonly entry: ViewEntry; readonly policies: () => Promise<void> }): Promise<ServedView> {
    const { entry, policies } = how;
    const { toolset } = views;
    const page = await this.#bounded((signal) => this.#options.read(toolset, entry.uri, signal));
    if (page.csp === undefined) await policies();
    const content = contentOf(page, { toolset, uri: entry.uri, listed: views.policies.get(entry.uri) });
    return this.#install(entry, content);
  }

  async #readPolicies(views: ToolsetViews): Promise<void> {
    const { policies } = this.#options;
    if (policies === undefined) return;
    try {
      views.policies = await this.#bounded((signal) => policies(views.toolset, signal));
    } catch (error) {
      // What the list said before counts until it can be read.
      this.#logger.warn('view policies not read', { toolset: views.toolset, code: codeOf(error) });
    }
  }

  async #bounded<T>(read: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const limit = new AbortController();
    const cancel = this.#clock.after((this.#options.timeoutSeconds ?? 10) * 1_000, () => limit.abort());
    try {
      return await read(AbortSignal.any([limit.signal, this.#closed.signal]));
    } finally {
      cancel();
    }
  }

  #install(entry: ViewEntry, content: ServedView): ServedView {
    const before = entry.content;
    if (before?.hash === content.hash) return before;
    entry.content = content;
    void this.#compress(entry, content);
    if (before === undefined) return content;
    this.#versions.add(before);
    const change = { toolset: content.toolset, uri: content.uri, from: before.hash, to: content.hash };
    this.#logger.info('view changed', change);
    this.#options.onChanged?.(change);
    return content;
  }

  /** Compresses a content once, beside everything else; until it is done the content is served as it is. */
  async #compress(entry: ViewEntry, content: ServedView): Promise<void> {
    try {
      const gzipped = await compress(content.html, { level: 9 });
      if (gzipped.byteLength < content.html.byteLength && entry.content === content) entry.content = { ...content, gzip: gzipped };
    } catch (error) {
      // Served without compression it is the same page.
      this.#logger.debug('view not compressed', { toolset: content.toolset, uri: content.uri, error: String(error) });
    }
  }

  #viewsOf(toolset: string): ToolsetViews {
    const known = this.#toolsets.get(toolset);
    if (known !== undefined) return known;
    const views = new ToolsetViews(toolset);
    this.#toolsets.set(toolset, views);
    return views;
  }
}

function codeOf(error: unknown): string {
  return error instanceof CodedError ? error.code : 'unknown';
}
