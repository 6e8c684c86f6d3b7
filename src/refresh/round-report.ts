import { diffCatalogs } from '../core/diff.js';
import type { Generation } from '../core/generation.js';
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
      logHidden(logger, generation, before, after);
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

/** Hidden text may carry hidden instructions, so whoever runs the service is told which toolset sends it (CONTRACT.md 14.1). */
function logHidden(logger: Logger, generation: number, before: ConcludedRound['before'], after: ConcludedRound['after']): void {
  const known = new Set(before?.snapshots);
  for (const snapshot of after?.snapshots ?? []) {
    const { characters, tools } = snapshot.hidden;
    if (characters === 0 || known.has(snapshot)) continue;
    logger.warn('hidden characters removed', { toolset: snapshot.toolset, generation, characters, tools: tools.slice(0, LISTED_NAMES) });
  }
}
