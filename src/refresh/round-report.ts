import { diffCatalogs } from '../core/diff.js';
import type { Generation } from '../core/generation.js';
import { removeHidden } from '../core/hidden-text.js';
import type { Logger } from '../core/ports.js';
import type { ConcludedRound } from '../core/round-state.js';
import type { RoundRecord } from '../core/status.js';
import { shownError } from './status-report.js';

const NO_CHANGES = { added: [], removed: [], changed: [] } as const;

/** A concluded round as people read it (CONTRACT.md 9.2). */
export function describeRound(
  concluded: ConcludedRound,
  { now, at, generation }: { now: number; at: Date; generation: number },
): RoundRecord {
  const { round, outcome, trigger, openedAt, listed, swapped, held, late, failing, before, after, error } = concluded;
  return {
    round,
    outcome,
    trigger,
    at: at.toISOString(),
    durationMs: Math.round(now - openedAt),
    generation,
    toolsets: { listed, swapped, held, late, failing },
    changes: outcome === 'swapped' && after !== null ? diffCatalogs(before ?? undefined, after) : NO_CHANGES,
    error: error === null ? null : shownError(error),
  };
}

/** One line per round, with a constant message and the data in fields (CONTRACT.md 13.1). */
export function logRound(logger: Logger, record: RoundRecord, { before, after }: ConcludedRound, previous: Generation | undefined): void {
  const { round, outcome, trigger, durationMs, generation, toolsets, changes, error } = record;
  const { listed, ...others } = toolsets;
  const named = Object.fromEntries(Object.entries(others).filter(([, names]) => names.length > 0));
  const fields = {
    round,
    trigger,
    generation,
    durationMs,
    listed,
    ...named,
    ...(error === null ? {} : { code: error.code, error: error.message }),
  };
  switch (outcome) {
    case 'swapped':
      logger.info('agent swapped', {
        ...fields,
        from: before?.fingerprint ?? null,
        to: after?.fingerprint ?? null,
        previous: previous?.number ?? null,
        ...changes,
      });
      logRemarks(logger, generation, { before, after });
      return;
    case 'unchanged':
      logger.info('round unchanged', fields);
      return;
    case 'held':
      logger.info('round held', fields);
      return;
    case 'aborted':
    case 'rejected':
      logger.warn(`round ${outcome}`, fields);
      return;
  }
}

/** How many names of tools one line lists. */
const LISTED_NAMES = 20;
/** How much of each name one line shows, in characters. */
const LISTED_LENGTH = 200;

/** What whoever runs the service should know about the new snapshots: tools that are not shown (6.2), and hidden text, which may carry hidden instructions (14.1). */
function logRemarks(logger: Logger, generation: number, { before, after }: Pick<ConcludedRound, 'before' | 'after'>): void {
  const known = new Set(before?.snapshots);
  for (const { toolset, withheld, hidden } of (after?.snapshots ?? []).filter((snapshot) => !known.has(snapshot))) {
    if (withheld.length > 0) {
      const tools = withheld.slice(0, LISTED_NAMES).map(({ tool }) => removeHidden(tool.slice(0, LISTED_LENGTH)).text);
      logger.warn('tools withheld', { toolset, generation, withheld: withheld.length, tools, reason: withheld[0]?.reason });
    }
    if (hidden.characters > 0) {
      const tools = hidden.tools.slice(0, LISTED_NAMES).map((tool) => tool.slice(0, LISTED_LENGTH));
      logger.warn('hidden characters removed', { toolset, generation, characters: hidden.characters, tools });
    }
  }
}
