import { FLOOR } from '../harness/contestant-process.js';
import type { BenchRecord, RecordedResult } from '../harness/record.js';
import type { Cell, Row } from '../harness/result.js';
import { isMeasured, judge, verdictOf } from '../harness/verdict.js';
import { cellText, numberText, spreadText } from './figures.js';
import { table } from './markdown.js';
import { REASONS } from './reasons.js';

/** The table that says for each goal whether it is met. Its figures are those of the goal's first row that is judged. */
export function summaryOf(record: BenchRecord, reasons = REASONS): string {
  const lines = record.map((result) => {
    const row = result.rows.find((candidate) => judge(candidate).verdict !== 'for information') ?? result.rows[0];
    const figures =
      row === undefined ? ['—', '—', '—', '—'] : [row.measure, cellText(row.ours, row.unit), againstFloor(row), bestPeer(row)];
    return [`[${result.goal}](#${anchorOf(result)})`, result.asks, ...figures, verdictCell(result, reasons)];
  });
  return table(['goal', 'asks', 'measured, for example', 'ours', 'against the floor', 'best peer', 'verdict'], lines);
}

/** The heading of a goal's section, and the anchor that leads to it. */
export function headingOf({ goal, title }: RecordedResult): string {
  return `${goal} ${title}`;
}

function anchorOf(result: RecordedResult): string {
  return headingOf(result)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
    .replaceAll(' ', '-');
}

/** `met`, or what is not met and why. */
export function verdictCell({ goal, rows }: RecordedResult, reasons = REASONS): string {
  const verdict = verdictOf(rows);
  if (verdict === 'met' || verdict === 'for information') return verdict;
  const judged = rows.map((row) => judge(row).verdict).filter((each) => each !== 'for information');
  const part = `${judged.filter((each) => each === verdict).length} of ${judged.length} rows`;
  if (verdict === 'unstable') return `unstable in ${part}, otherwise met`;
  return `**not met** in ${part}, because ${reasons[goal] ?? 'of something that nobody has found out yet'}`;
}

function againstFloor({ ours, others, ratio }: Row): string {
  if (ratio !== undefined) return spreadText(ratio.spread, `× ${ratio.to}`);
  const floor = others[FLOOR.name];
  if (!isMeasured(ours) || !isMeasured(floor) || floor.median === 0) return '—';
  return `${numberText(ours.median / floor.median)} × floor`;
}

function bestPeer(row: Row): string {
  const peers = Object.entries(row.others).filter(([name]) => name !== FLOOR.name);
  if (peers.length === 0) return 'not measured';
  const measured = peers.flatMap(([name, cell]) => (isMeasured(cell) ? [{ name, cell }] : []));
  const [best] = measured.sort((a, b) => remoteness(a.cell.median, row) - remoteness(b.cell.median, row));
  if (best === undefined) return 'none can';
  return `${best.name}: ${cellText(best.cell, row.unit)}${isBetter(best.cell, row) ? ', **better than ours**' : ''}`;
}

/** By this two figures of a row are compared: less of it is better. Where exactly one figure is right, what counts is how far from it they are. */
function remoteness(figure: number, { limit, ratio }: Row): number {
  if (limit?.atMost !== undefined && limit.atMost === limit.atLeast) return Math.abs(figure - limit.atMost);
  const moreIsBetter = (limit?.atMost ?? ratio?.atMost) === undefined && (limit?.atLeast ?? ratio?.atLeast) !== undefined;
  return moreIsBetter ? -figure : figure;
}

/** Whether a peer's figure is better than ours. */
export function isBetter(theirs: Cell, row: Row): boolean {
  if (!isMeasured(theirs)) return false;
  if (!isMeasured(row.ours)) return true;
  return remoteness(theirs.median, row) < remoteness(row.ours.median, row);
}
