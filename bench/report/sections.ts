import { FLOOR } from '../harness/contestant-process.js';
import type { BenchRecord, Origin, RecordedResult } from '../harness/record.js';
import type { Cell, Row } from '../harness/result.js';
import { OURS } from '../harness/service.js';
import { isMeasured } from '../harness/verdict.js';
import { chartName } from './chart-name.js';
import { cellText, contestantsOf, limitText, spreadText, verdictText } from './figures.js';
import { table } from './markdown.js';
import { headingOf, isBetter } from './summary.js';

/** A goal's section: what it asks, everybody's figures, who cannot do it, the chart and the notes. */
export function sectionOf(result: RecordedResult): string {
  const unable = contestantsOf(result).flatMap((name) => {
    const why = reasonForAll(result, name);
    return why === undefined ? [] : [{ name, why }];
  });
  const left = new Set(unable.map(({ name }) => name));
  const blocks = [
    `## ${headingOf(result)}`,
    `Asked: ${result.asks}`,
    table(
      ['measured', 'asked', 'who', 'median (least–greatest round)', 'verdict'],
      result.rows.flatMap((row) => linesOf(row, left)),
    ),
    ...(unable.length === 0 ? [] : [`Without figures:\n\n${unable.map(({ name, why }) => `- ${name}: ${why}`).join('\n')}`]),
    `![${result.goal}: the figures of the table as a chart](benchmarks/${chartName(result)})`,
    result.notes.map((note) => `- ${note}`).join('\n'),
  ];
  return blocks.join('\n\n');
}

function linesOf(row: Row, left: ReadonlySet<string>): string[][] {
  const { measure, unit, ours, others, ratio } = row;
  const ownFigure = cellText(ours, unit) + (ratio === undefined ? '' : `; ${spreadText(ratio.spread, `× ${ratio.to}`)}`);
  const rest = Object.entries(others).filter(([name]) => !left.has(name));
  return [
    [measure, limitText(row), `**${OURS.name}**`, ownFigure, verdictText(row)],
    ...rest.map(([name, cell]) => ['', '', name, cellText(cell, unit), remark({ name, cell, row })]),
  ];
}

function remark({ name, cell, row }: { name: string; cell: Cell; row: Row }): string {
  return name !== FLOOR.name && isBetter(cell, row) ? 'better than ours' : '';
}

/** The reason that stands in every cell of a contestant; undefined where one has a figure or reasons differ. */
function reasonForAll({ rows }: RecordedResult, name: string): string | undefined {
  const cells = rows.map(({ others }) => others[name]).filter((cell) => cell !== undefined);
  const reasons = new Set(cells.map((cell) => (isMeasured(cell) ? undefined : cell.cannot)));
  return reasons.size === 1 ? [...reasons][0] : undefined;
}

/** Where and how each goal was measured, goals of one measurement together. */
export function originsOf(record: BenchRecord): string {
  const byOrigin = new Map<string, { origin: Origin; goals: string[] }>();
  for (const { goal, origin } of record) {
    const key = JSON.stringify({ ...origin, command: '' });
    const found = byOrigin.get(key) ?? { origin, goals: [] };
    byOrigin.set(key, { ...found, goals: [...found.goals, goal] });
  }
  const lines = [...byOrigin.values()].map(({ origin, goals }) => [
    goals.join(', '),
    origin.date,
    `\`${origin.command}\``,
    origin.product,
    `${origin.node}, ${origin.system}`,
    `${origin.cores} cores, ${origin.memoryGb} GB, ${origin.processor}`,
  ]);
  return table(['goals', 'date', 'command', 'version of mcp-agent-api', 'Node', 'machine'], lines);
}

/** Every other contestant and its version. */
export function contestantsTable(record: BenchRecord): string {
  const versions = new Map(record.flatMap(({ origin, versions: own = {} }) => Object.entries({ ...origin.contestants, ...own })));
  return table(['contestant', 'version'], [...versions]);
}
