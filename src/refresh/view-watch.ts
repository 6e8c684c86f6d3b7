import { CodedError } from '../core/errors.js';
import type { Clock, Logger, ToolsetSession } from '../core/ports.js';
import type { ViewChange } from '../core/refresher-events.js';
import type { Snapshot } from '../core/snapshot.js';
import { viewsOfTools } from '../core/view.js';
import { ViewCache } from './view-cache.js';

export interface ViewWatchOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly debounceMs: number;
  readonly timeoutSeconds: number;
  readonly keepSeconds: number;
  /** The open session of a toolset, by its identity. */
  readonly sessionOf: (id: string) => ToolsetSession | undefined;
  /** Whether a toolset is being listed or about to be: then its views are read again after that. */
  readonly isListing: (id: string) => boolean;
  readonly onChanged: (change: ViewChange) => void;
}

interface Signals {
  /** The views that may have changed; undefined is all of them. */
  readonly uris: Set<string | undefined>;
  readonly cancel: () => void;
  readonly firstAt: number;
}

/** When views are read again (CONTRACT.md 8.3): after every list of their toolset, and when it says that they changed. */
export class ViewWatch {
  readonly cache: ViewCache;
  readonly #options: ViewWatchOptions;
  /** The identity of each toolset that has given a list, by name. */
  readonly #ids = new Map<string, string>();
  readonly #signals = new Map<string, Signals>();
  readonly #warnedOf = new Map<string, string>();

  constructor(options: ViewWatchOptions) {
    this.#options = options;
    const { clock, logger, timeoutSeconds, keepSeconds, onChanged } = options;
    this.cache = new ViewCache({
      ...{ clock, logger, timeoutSeconds, keepSeconds, onChanged },
      read: (toolset, uri, signal) => this.#sessionOf(toolset).readView(uri, signal),
      policies: (toolset, signal) => this.#sessionOf(toolset).viewPolicies(signal),
    });
  }

  /** A list of the toolset is complete. */
  listed({ id, toolset, tools }: Snapshot): void {
    this.#ids.set(toolset, id);
    const { uris, odd } = viewsOfTools(tools);
    this.#warn(toolset, odd);
    this.cache.name(toolset, uris);
    this.#takeSignals(toolset);
    void this.cache.reread(toolset);
  }

  /** A list of the toolset failed; what was put off until after it is done now. */
  listFailed(id: string): void {
    const toolset = this.#nameOf(id);
    if (toolset !== undefined) this.#rereadSignalled(toolset);
  }

  /** The toolset says that a view changed; without a URI any may have. */
  signalled(id: string, uri: string | undefined): void {
    const toolset = this.#nameOf(id);
    if (toolset === undefined) return;
    const { clock, debounceMs } = this.#options;
    const now = clock.now();
    const before = this.#signals.get(toolset);
    before?.cancel();
    const firstAt = before?.firstAt ?? now;
    const delayMs = Math.max(0, Math.min(debounceMs, firstAt + 10 * debounceMs - now));
    const cancel = clock.after(delayMs, () => {
      if (!this.#options.isListing(id)) this.#rereadSignalled(toolset);
    });
    this.#signals.set(toolset, { uris: new Set([...(before?.uris ?? []), uri]), cancel, firstAt });
  }

  /** The toolset left the index, or moved to another URL: then its new identity has given a list by now. */
  dismissed(id: string): void {
    const toolset = this.#nameOf(id);
    if (toolset === undefined) return;
    this.#takeSignals(toolset);
    this.#ids.delete(toolset);
    this.#warnedOf.delete(toolset);
    this.cache.forget(toolset);
  }

  stop(): void {
    for (const toolset of [...this.#signals.keys()]) this.#takeSignals(toolset);
    this.cache.close();
  }

  #rereadSignalled(toolset: string): void {
    const uris = this.#takeSignals(toolset);
    if (uris.has(undefined)) void this.cache.reread(toolset);
    else for (const uri of uris) void this.cache.reread(toolset, uri);
  }

  #takeSignals(toolset: string): ReadonlySet<string | undefined> {
    const signals = this.#signals.get(toolset);
    signals?.cancel();
    this.#signals.delete(toolset);
    return signals?.uris ?? new Set();
  }

  #sessionOf(toolset: string): ToolsetSession {
    const id = this.#ids.get(toolset);
    const session = id === undefined ? undefined : this.#options.sessionOf(id);
    if (session === undefined) throw new CodedError('SESSION_CLOSED', `There is no session with toolset "${toolset}".`, { toolset });
    return session;
  }

  #nameOf(id: string): string | undefined {
    for (const [toolset, known] of this.#ids) if (known === id) return toolset;
    return undefined;
  }

  /** Tells of tools whose view cannot be one, once until that changes. */
  #warn(toolset: string, odd: ReturnType<typeof viewsOfTools>['odd']): void {
    const text = JSON.stringify(odd);
    if ((this.#warnedOf.get(toolset) ?? '[]') === text) return;
    this.#warnedOf.set(toolset, text);
    for (const { tool, reason } of odd) this.#options.logger.warn('view ignored', { toolset, tool, reason });
  }
}
