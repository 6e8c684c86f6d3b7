import type { FeedEvent } from '../../../src/http/event-schemas.js';

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
    // Numbers begin anew when a service that keeps nothing starts again.
    case 'round':
      return { key: `round ${event.round} ${event.at}`, event };
    case 'generation':
      return { key: `generation ${event.number} ${event.at}`, event };
    case 'decision':
      return { key: `decision ${event.toolset} ${event.fingerprint} ${event.decision}`, event };
    default:
      return { key: `${event.type} ${event.id}`, event };
  }
}

/** A round that swapped is told by its generation. That a toolset is being connected to is only worth its mark in the list of toolsets. */
function isTold(event: FeedEvent): boolean {
  if (event.type === 'round') return event.outcome !== 'swapped';
  return event.type !== 'toolset' || event.to !== 'connecting';
}

/** Adds lines, newest first. A line that is there already stays. */
export function withEvents(entries: readonly Entry[], events: readonly FeedEvent[]): readonly Entry[] {
  const known = new Set(entries.map(({ key }) => key));
  const added: Entry[] = [];
  for (const event of events) {
    if (!isTold(event)) continue;
    const entry = entryOf(event);
    if (known.has(entry.key)) continue;
    known.add(entry.key);
    added.push(entry);
  }
  if (added.length === 0) return entries;
  // Of two lines of the same millisecond, the one that arrived later stands above.
  return [...added.reverse(), ...entries].sort((a, b) => Date.parse(b.event.at) - Date.parse(a.event.at)).slice(0, ENTRIES_KEPT);
}
