import type { Cell, Row, ScenarioResult } from '../harness/result.js';
import type { Spread } from '../harness/statistics.js';
import { judge } from '../harness/verdict.js';

/** A number as a reader wants it: three significant digits, thousands with a space, no exponent. */
export function numberText(value: number): string {
  if (!Number.isFinite(value)) return '—';
  if (Number.isInteger(value) && Math.abs(value) < 1_000) return String(value);
  if (Math.abs(value) >= 1_000) return String(Math.round(value)).replaceAll(/\B(?=(\d{3})+$)/g, ' ');
  return String(Number(value.toPrecision(3)));
}

/** A unit after its number; a count has none. */
function suffixOf(unit: string): string {
  return unit === '' || unit === 'count' ? '' : ` ${unit}`;
}

/** A figure with its unit; with the least and the greatest round where they differ. */
export function spreadText({ median, min, max, rounds }: Spread, unit: string): string {
  const range = rounds > 1 && min !== max ? ` (${numberText(min)}–${numberText(max)})` : '';
  return `${numberText(median)}${suffixOf(unit)}${range}`;
}

/** A cell's text; an absent cell was not measured. */
export function cellText(cell: Cell | undefined, unit: string): string {
  if (cell === undefined) return '—';
  return 'cannot' in cell ? cell.cannot : spreadText(cell, unit);
}

/** What the goal asks of us in this row, or an empty text. */
export function limitText({ limit, ratio, unit }: Row): string {
  const texts = [boundsText(limit ?? {}, unit), ratio === undefined ? '' : boundsText(ratio, `× ${ratio.to}`)];
  return texts.filter((text) => text !== '').join(' and ');
}

function boundsText({ atMost, atLeast }: { atMost?: number; atLeast?: number }, unit: string): string {
  const suffix = suffixOf(unit);
  if (atMost !== undefined && atMost === atLeast) return `exactly ${numberText(atMost)}${suffix}`;
  const texts = [
    ...(atLeast === undefined ? [] : [`≥ ${numberText(atLeast)}${suffix}`]),
    ...(atMost === undefined ? [] : [`≤ ${numberText(atMost)}${suffix}`]),
  ];
  return texts.join(', ');
}

/** The row's verdict in words. */
export function verdictText(row: Row): string {
  const { verdict, everyRoundWithin } = judge(row);
  if (verdict !== 'unstable') return verdict;
  return everyRoundWithin ? 'unstable, but every round is within the limit' : 'unstable';
}

/** Everybody who has a cell in one of these rows, in the order in which they first appear. */
export function contestantsOf({ rows }: Pick<ScenarioResult, 'rows'>): string[] {
  return [...new Set(rows.flatMap(({ others }) => Object.keys(others)))];
}
