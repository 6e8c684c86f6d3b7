import type { ScenarioResult } from '../harness/result.js';
import { cellText, limitText, spreadText, verdictText } from './figures.js';

/** A result for the terminal: one line for each row, and one for each other contestant in it. */
export function plainText({ goal, title, rows }: ScenarioResult): string {
  const lines = rows.flatMap((row) => {
    const asked = limitText(row);
    const ratio = row.ratio === undefined ? '' : `, ${spreadText(row.ratio.spread, `× ${row.ratio.to}`)}`;
    const own = `  ${row.measure}: ${cellText(row.ours, row.unit)}${ratio}${asked === '' ? '' : ` [${asked}]`} ${verdictText(row)}`;
    return [own, ...Object.entries(row.others).map(([name, cell]) => `      ${name}: ${cellText(cell, row.unit)}`)];
  });
  return [`${goal} ${title}`, ...lines].join('\n');
}
