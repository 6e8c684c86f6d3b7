import type { Cell, Row, Verdict } from './result.js';
import { isStable, type Spread } from './statistics.js';

interface Limit {
  readonly atMost?: number;
  readonly atLeast?: number;
}

/** How a row stands to what its goal asks. */
export interface Judgement {
  readonly verdict: Verdict;
  /** Whether each single round was within the limits. An unstable row may still be that. */
  readonly everyRoundWithin: boolean;
}

/** Whether the contestant has a figure in this cell. */
export function isMeasured(cell: Cell | undefined): cell is Spread {
  return cell !== undefined && !('cannot' in cell);
}

/**
 * Judges one row by its limit and by the limit of its ratio: `met` when the medians are within both, `unstable` when the rounds of a figure
 * that is judged lie further apart than a result may.
 */
export function judge(row: Row): Judgement {
  const judged: { spread: Spread; limit: Limit; noiseFloor?: number }[] = [];
  if (hasLimit(row.limit)) {
    if (!isMeasured(row.ours)) return { verdict: 'not met', everyRoundWithin: false };
    judged.push({ spread: row.ours, limit: row.limit, noiseFloor: row.noiseFloor });
  }
  if (row.ratio !== undefined && hasLimit(row.ratio)) judged.push({ spread: row.ratio.spread, limit: row.ratio });
  if (judged.length === 0) return { verdict: 'for information', everyRoundWithin: true };
  const everyRoundWithin = judged.every(({ spread, limit }) => isWithin(spread.min, limit) && isWithin(spread.max, limit));
  if (judged.some(({ spread, noiseFloor }) => !isStable(spread, noiseFloor))) return { verdict: 'unstable', everyRoundWithin };
  const met = judged.every(({ spread, limit }) => isWithin(spread.median, limit));
  return { verdict: met ? 'met' : 'not met', everyRoundWithin };
}

/** The verdict on a goal: that of its worst row. */
export function verdictOf(rows: readonly Row[]): Verdict {
  const verdicts = new Set(rows.map((row) => judge(row).verdict));
  return (['not met', 'unstable', 'met'] as const).find((verdict) => verdicts.has(verdict)) ?? 'for information';
}

/** Whether a row fails a check that allows for noise: its limit is broken, not merely its rounds far apart. */
export function fails(row: Row): boolean {
  const { verdict, everyRoundWithin } = judge(row);
  return verdict === 'not met' || (verdict === 'unstable' && !everyRoundWithin);
}

function hasLimit(limit: Limit | undefined): limit is Limit {
  return limit?.atMost !== undefined || limit?.atLeast !== undefined;
}

function isWithin(value: number, { atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY }: Limit): boolean {
  // A figure that is none, such as 0 divided by 0, is within nothing. A record that was read has null for it.
  return Number.isFinite(value) && value >= atLeast && value <= atMost;
}
