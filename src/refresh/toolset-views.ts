import type { ReadView, ServedView } from '../core/ports.js';
import { hashOfPage } from '../core/view.js';
import { policyOfView } from '../core/view-policy.js';

/** One view of a toolset. */
export interface ViewEntry {
  readonly uri: string;
  /** The last-known-good content; undefined until it was read once. */
  content: ServedView | undefined;
  /** The read that is under way while there is no content; everybody who comes shares it. */
  coldRead: Promise<ServedView> | undefined;
  /** Whether a run has waited for the first read. It is waited for once. */
  waitedFor: 'no' | 'yes';
  /** When the last tool that named it was gone; undefined while one does. */
  unnamedAt: number | undefined;
}

/** What the cache knows of one toolset's views. */
export class ToolsetViews {
  readonly toolset: string;
  readonly entries = new Map<string, ViewEntry>();
  named: ReadonlySet<string> = new Set();
  /** What the resource list declared when it was last read. */
  policies: ReadonlyMap<string, unknown> = new Map();
  /** The views to read again; `all` of them, or those of these URIs. */
  due: 'all' | Set<string> = new Set();
  current: Promise<void> | undefined;
  next: Promise<void> | undefined;
  startedAt = Number.NEGATIVE_INFINITY;

  constructor(toolset: string) {
    this.toolset = toolset;
  }

  entry(uri: string): ViewEntry {
    const known = this.entries.get(uri);
    if (known !== undefined) return known;
    const entry: ViewEntry = { uri, content: undefined, coldRead: undefined, waitedFor: 'no', unnamedAt: undefined };
    this.entries.set(uri, entry);
    return entry;
  }

  /** A tool names it, or it was served before. */
  knows(uri: string): boolean {
    return this.named.has(uri) || this.entries.get(uri)?.content !== undefined;
  }

  /** The tools name these views now. Views that nobody names any more stay for `keepMs`. */
  name(uris: readonly string[], { now, keepMs }: { readonly now: number; readonly keepMs: number }): readonly ServedView[] {
    this.named = new Set(uris);
    const dropped: ServedView[] = [];
    for (const [uri, entry] of this.entries) {
      entry.unnamedAt = this.named.has(uri) ? undefined : (entry.unnamedAt ?? now);
      if (entry.unnamedAt === undefined || entry.coldRead !== undefined || now - entry.unnamedAt < keepMs) continue;
      this.entries.delete(uri);
      if (entry.content !== undefined) dropped.push(entry.content);
    }
    return dropped;
  }

  makeDue(uri: string | undefined): void {
    if (uri === undefined) this.due = 'all';
    else if (this.due !== 'all') this.due.add(uri);
  }

  /** The entries that are to be read again; afterwards none is. A view that nobody has asked for yet stays unread. */
  takeDue(): readonly ViewEntry[] {
    const { due } = this;
    this.due = new Set();
    const read = [...this.entries.values()].filter(({ content, coldRead }) => content !== undefined || coldRead !== undefined);
    return due === 'all' ? read : read.filter(({ uri }) => due.has(uri));
  }
}

/** A page as it is served, with what it or its entry of the resource list declares; what the page says wins. */
export function contentOf(page: ReadView, about: { readonly toolset: string; readonly uri: string; readonly listed: unknown }): ServedView {
  const { toolset, uri, listed } = about;
  const policy = policyOfView(page.csp ?? listed);
  const hash = hashOfPage(page.html, policy === policyOfView(undefined) ? undefined : policy);
  return { toolset, uri, hash, html: page.html, policy, gzip: undefined };
}
