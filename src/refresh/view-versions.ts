import type { Clock, ServedView } from '../core/ports.js';

export interface ViewVersionsOptions {
  readonly clock: Clock;
  readonly keepMs: number;
  readonly keepBytes: number;
}

interface Version {
  readonly view: ServedView;
  readonly until: number;
}

/** The contents of views that were replaced, by toolset, URI and hash: kept for a while and up to so many bytes, the newest ones. */
export class ViewVersions {
  readonly #options: ViewVersionsOptions;
  /** The one that was replaced last is at the end. */
  readonly #versions = new Map<string, Version>();
  #bytes = 0;

  constructor(options: ViewVersionsOptions) {
    this.#options = options;
  }

  add(view: ServedView): void {
    const { clock, keepMs, keepBytes } = this.#options;
    const now = clock.now();
    this.#drop(keyOf(view));
    this.#versions.set(keyOf(view), { view, until: now + keepMs });
    this.#bytes += view.html.byteLength;
    for (const [key, { until }] of this.#versions) {
      if (until > now && this.#bytes <= keepBytes) return;
      this.#drop(key);
    }
  }

  find(wanted: { readonly toolset: string; readonly uri: string; readonly hash: string }): ServedView | undefined {
    const version = this.#versions.get(keyOf(wanted));
    return version !== undefined && version.until > this.#options.clock.now() ? version.view : undefined;
  }

  #drop(key: string): void {
    this.#bytes -= this.#versions.get(key)?.view.html.byteLength ?? 0;
    this.#versions.delete(key);
  }
}

function keyOf({ toolset, uri, hash }: { readonly toolset: string; readonly uri: string; readonly hash: string }): string {
  return JSON.stringify([toolset, uri, hash]);
}
