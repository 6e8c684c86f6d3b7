import { CodedError } from '../core/errors.js';
import type { IndexEntry } from '../core/index-document.js';
import { afterFailedRead, afterGoodRead, type IndexWatch, NO_INDEX, nextReadMs } from '../core/index-watch.js';
import type { Clock, Logger, ToolsetEndpoint } from '../core/ports.js';
import { toolsetId } from '../core/snapshot.js';
import { readIndex, readSiblingHealth, watchIndexFile } from '../mcp/toolset-index.js';

/** One toolset that the index names. Where its entry cannot be used, `endpoint` is the reason instead. */
export interface NamedToolset {
  readonly id: string;
  readonly name: string;
  readonly endpoint: ToolsetEndpoint | CodedError;
}

export interface IndexReaderOptions {
  /** MCP_URL: an index (URL or file), or one MCP endpoint. */
  readonly url: string;
  /** Milliseconds between reads; 0 reads at the start and on request only. */
  readonly everyMs: number;
  readonly timeoutMs: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The toolsets after a good read: those that count now, in any order. */
  readonly onToolsets: (toolsets: readonly NamedToolset[]) => void;
  /** The first failed read after a good one, or after the start. */
  readonly onFailure: (error: CodedError) => void;
  /** The index could not be read any more, or can be read again (`error` is null then). */
  readonly onChanged: (read: { readonly error: CodedError | null }) => void;
  /** Whether the one endpoint that MCP_URL may be has answered as an MCP server. */
  readonly hasAnswered: (id: string) => boolean;
}

/** What MCP_URL is. `undecided`: it has answered properly neither as an index nor as an endpoint yet, so both are tried. */
type Kind = 'undecided' | 'index' | 'endpoint';

/** The name of the one toolset where MCP_URL is an MCP endpoint (CONTRACT.md 3.13). */
const SINGLE_TOOLSET = 'server';

/** Reads the index again and again, and believes a removal only when it is confirmed (CONTRACT.md 3.12). */
export class IndexReader {
  readonly #options: IndexReaderOptions;
  readonly #entries = new Map<string, NamedToolset>();
  #watch: IndexWatch = NO_INDEX;
  #kind: Kind = 'undecided';
  #error: CodedError | null = null;
  #readAt: Date | null = null;
  #reading: Promise<void> | undefined;
  #cancelTimer: () => void = () => undefined;
  #stopWatching: () => void = () => undefined;
  readonly #stopped = new AbortController();

  constructor(options: IndexReaderOptions) {
    this.#options = options;
  }

  get error(): CodedError | null {
    return this.#error;
  }

  get readAt(): Date | null {
    return this.#readAt;
  }

  start(): void {
    this.#stopWatching = watchIndexFile(this.#options.url, () => void this.readNow());
    void this.readNow();
  }

  stop(): void {
    this.#stopped.abort();
    this.#cancelTimer();
    this.#stopWatching();
  }

  /** Reads the index now; resolves when that is done, or when `waitMs` have passed. */
  async readSoon(waitMs: number): Promise<void> {
    let cancel: () => void = () => undefined;
    const late = new Promise<void>((resolve) => {
      cancel = this.#options.clock.after(waitMs, resolve);
    });
    await Promise.race([this.readNow(), late]);
    cancel();
  }

  /** Reads the index now; resolves when that is done, whatever came of it. Concurrent callers share one read. */
  readNow(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<void> {
    const { url, clock, timeoutMs, env } = this.#options;
    if (this.#stopped.signal.aborted || this.#isSettledEndpoint()) return;
    this.#cancelTimer();
    const abort = new AbortController();
    const cancelTimeout = clock.after(timeoutMs, () => abort.abort());
    try {
      const read = await readIndex(url, { signal: AbortSignal.any([abort.signal, this.#stopped.signal]), env });
      if (this.#stopped.signal.aborted) return;
      if (read.kind === 'index') this.#receiveDocument(read.document.entries);
      else if (this.#kind === 'index') throw new CodedError('INDEX_MALFORMED', 'What MCP_URL answers is no index any more.');
      else await this.#tryAsEndpoint();
    } catch (cause) {
      // A failed read changes nothing that is held; it is told once and tried again.
      const error = cause instanceof CodedError ? cause : new CodedError('INDEX_UNREACHABLE', 'The index could not be read.', { cause });
      if (!this.#stopped.signal.aborted) this.#receiveFailure(error);
    } finally {
      cancelTimeout();
    }
    this.#scheduleNext();
  }

  #receiveDocument(entries: readonly IndexEntry[]): void {
    if (entries.length === 0) throw new CodedError('INDEX_EMPTY', 'The index names no toolset at all.');
    if (this.#kind === 'undecided') this.#forgetSingleToolset();
    this.#kind = 'index';
    for (const entry of entries) {
      const named = entry.ok ? usable(entry.endpoint) : unusable(entry.name, entry.reason);
      this.#entries.set(named.name, named);
    }
    this.#receiveNames(new Map(entries.map((entry) => [nameOf(entry), this.#entries.get(nameOf(entry))?.id ?? ''])));
  }

  #receiveNames(named: ReadonlyMap<string, string>): void {
    const { clock, logger, onToolsets } = this.#options;
    const before = this.#watch.known.size;
    const { watch, massVanish } = afterGoodRead(this.#watch, named, clock.now());
    if (massVanish) {
      logger.warn('more than half of the toolsets vanished from the index', { before, named: named.size });
    }
    const recovered = this.#error !== null;
    if (recovered) logger.info('index readable again');
    this.#watch = watch;
    this.#error = null;
    this.#readAt = clock.date();
    for (const name of [...this.#entries.keys()]) if (!watch.known.has(name)) this.#entries.delete(name);
    onToolsets([...this.#entries.values()]);
    if (recovered) this.#options.onChanged({ error: null });
  }

  #receiveFailure(error: CodedError): void {
    const first = this.#error === null;
    this.#error = error;
    this.#watch = afterFailedRead(this.#watch, this.#options.clock.now());
    if (!first) return;
    this.#options.onFailure(error);
    this.#options.onChanged({ error });
  }

  /** What is no index is tried as one MCP endpoint, until one or the other has answered properly (CONTRACT.md 3.13). */
  async #tryAsEndpoint(): Promise<void> {
    const { url, env, timeoutMs } = this.#options;
    if (this.#kind === 'undecided' && this.#options.hasAnswered(toolsetId(SINGLE_TOOLSET, url))) this.#kind = 'endpoint';
    const signal = AbortSignal.any([AbortSignal.timeout(Math.min(timeoutMs, 2_000)), this.#stopped.signal]);
    const credentialHeaders = await readSiblingHealth(url, { signal, env });
    const named = usable({ name: SINGLE_TOOLSET, url, headers: {}, credentialHeaders });
    this.#entries.set(SINGLE_TOOLSET, named);
    this.#receiveNames(new Map([[SINGLE_TOOLSET, named.id]]));
  }

  #forgetSingleToolset(): void {
    this.#entries.delete(SINGLE_TOOLSET);
    this.#watch = NO_INDEX;
  }

  #isSettledEndpoint(): boolean {
    return this.#kind === 'endpoint';
  }

  #scheduleNext(): void {
    const { clock, everyMs } = this.#options;
    if (this.#stopped.signal.aborted || this.#isSettledEndpoint()) return;
    const now = clock.now();
    const undecided = this.#kind === 'undecided' && this.#error === null;
    const delayMs = undecided ? 1_000 : nextReadMs(this.#watch, { now, everyMs, error: this.#error, chance: clock.random() });
    this.#cancelTimer();
    if (delayMs !== undefined) this.#cancelTimer = clock.after(delayMs, () => void this.readNow());
  }
}

function nameOf(entry: IndexEntry): string {
  return entry.ok ? entry.endpoint.name : entry.name;
}

function usable(endpoint: ToolsetEndpoint): NamedToolset {
  return { id: toolsetId(endpoint.name, endpoint.url), name: endpoint.name, endpoint };
}

function unusable(name: string, reason: string): NamedToolset {
  const endpoint = new CodedError('TOOLSET_ENTRY_INVALID', `The index's entry for ${name} cannot be used: ${reason}`, { toolset: name });
  return { id: toolsetId(name, 'no usable entry'), name, endpoint };
}

/** The endpoint that a session is to be renewed with, where the index changed its headers; `list`: the toolset itself changed with it. */
export function renewalOf(before: NamedToolset | undefined, after: NamedToolset) {
  const then = before?.endpoint;
  const { endpoint } = after;
  if (then === undefined || then instanceof CodedError || endpoint instanceof CodedError) return undefined;
  const list = then.credentialHeaders.join() !== endpoint.credentialHeaders.join();
  return list || JSON.stringify(then.headers) !== JSON.stringify(endpoint.headers) ? { endpoint, list } : undefined;
}
