import type { CatalogChanges, RoundRecord, ToolsetState, Trigger } from '../../../src/core/status.js';

/** One event of `GET /refresh/events` (docs/events.md), as far as the page shows it. */
export type FeedEvent = { readonly id: string | number; readonly at: string } & (
  | ({ readonly type: 'round' } & RoundRecord)
  | ({ readonly type: 'generation' } & GenerationLine)
  | {
      readonly type: 'toolset';
      readonly toolset: string;
      readonly from: ToolsetState | null;
      readonly to: ToolsetState;
      readonly code: string | null;
    }
  | { readonly type: 'missed'; readonly toolset: string }
  | {
      readonly type: 'held';
      readonly toolset: string;
      readonly fingerprint: string;
      readonly reason: string;
      readonly classes?: readonly string[];
    }
  | { readonly type: 'decision'; readonly toolset: string; readonly fingerprint: string; readonly decision: string }
  | { readonly type: 'view'; readonly toolset: string; readonly uri: string }
  | { readonly type: 'index'; readonly code: string | null }
  | { readonly type: 'released'; readonly generation: number }
);

/** What the timeline says about a generation, whether it comes from `GET /generations` or from an event. */
export interface GenerationLine {
  readonly number: number;
  readonly trigger: Trigger;
  readonly swapped: readonly string[];
  readonly changes: CatalogChanges;
}

export type EventOf<Type extends FeedEvent['type']> = Extract<FeedEvent, { type: Type }>;

/** One line of the timeline. Two lines with the same key tell of the same thing. */
export interface Entry {
  readonly key: string;
  readonly event: FeedEvent;
}

/** How many lines are kept; the service's own history goes further back. */
const ENTRIES_KEPT = 200;

export function entryOf(event: FeedEvent): Entry {
  switch (event.type) {
    case 'round':
      return { key: `round ${event.round}`, event };
    case 'generation':
      return { key: `generation ${event.number}`, event };
    default:
      return { key: `${event.type} ${event.id} ${event.at}`, event };
  }
}

/** Adds lines, newest first. A line that is there already stays; rounds that swapped are told by their generation. */
export function withEvents(entries: readonly Entry[], events: readonly FeedEvent[]): readonly Entry[] {
  const known = new Set(entries.map(({ key }) => key));
  const added: Entry[] = [];
  for (const event of events) {
    if (event.type === 'round' && event.outcome === 'swapped') continue;
    const entry = entryOf(event);
    if (known.has(entry.key)) continue;
    known.add(entry.key);
    added.push(entry);
  }
  if (added.length === 0) return entries;
  return [...added, ...entries].sort((a, b) => Date.parse(b.event.at) - Date.parse(a.event.at)).slice(0, ENTRIES_KEPT);
}
