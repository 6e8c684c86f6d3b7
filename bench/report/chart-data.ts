import { FLOOR } from '../harness/contestant-process.js';
import type { Row, ScenarioResult } from '../harness/result.js';
import { OURS } from '../harness/service.js';
import type { Spread } from '../harness/statistics.js';
import { isMeasured } from '../harness/verdict.js';
import { contestantsOf } from './figures.js';

/** One dot of a chart, with the line from the least to the greatest round. */
export interface Dot extends Spread {
  /** The number of the row in its panel, from the top. */
  readonly row: number;
}

/** Rows of one unit, drawn over one axis. */
export interface Panel {
  readonly unit: string;
  readonly rows: readonly Row[];
  readonly scale: 'linear' | { readonly log: { readonly from: number; readonly to: number } };
  /** What the goal asks, where it can be drawn on this axis. */
  readonly limits: readonly { readonly row: number; readonly value: number }[];
  readonly dots: ReadonlyMap<string, readonly Dot[]>;
}

/** Values that span more than this are drawn on a logarithmic axis. */
const WIDE_SPAN = 50;

/** Everybody who has a figure in this result, ours first. */
export function drawnContestants(result: ScenarioResult): string[] {
  const hasFigure = (name: string) => result.rows.some((row) => isMeasured(cellsOf(row)[name]));
  return [OURS.name, ...contestantsOf(result)].filter(hasFigure);
}

/** The panels of a chart: one for each unit, in the order in which the rows name them. */
export function panelsOf(result: ScenarioResult): Panel[] {
  const units = [...new Set(result.rows.map(({ unit }) => unit))];
  return units.map((unit) =>
    panelOf(unit, { rows: result.rows.filter((row) => row.unit === unit), contestants: drawnContestants(result) }),
  );
}

function panelOf(unit: string, { rows, contestants }: { rows: readonly Row[]; contestants: readonly string[] }): Panel {
  const dots = new Map(
    contestants.map((name) => [
      name,
      rows.flatMap((row, number) => {
        const cell = cellsOf(row)[name];
        return isMeasured(cell) ? [{ ...cell, row: number }] : [];
      }),
    ]),
  );
  const limits = rows.flatMap((row, number) => limitsOf(row).map((value) => ({ row: number, value })));
  const values = [...[...dots.values()].flat().flatMap(({ min, max }) => [min, max]), ...limits.map(({ value }) => value)];
  return { unit, rows, dots, limits, scale: scaleOf(values) };
}

function cellsOf({ ours, others }: Row): Row['others'] {
  return { ...others, [OURS.name]: ours };
}

/** The limits in the row's unit. That of a ratio is drawn where the one it is a ratio to has a figure. */
function limitsOf({ limit, ratio, others }: Row): number[] {
  const base = ratio === undefined ? undefined : (others[ratio.to] ?? (ratio.to === 'floor' ? others[FLOOR.name] : undefined));
  const asked = [limit?.atMost, limit?.atLeast];
  if (isMeasured(base))
    asked.push(...[ratio?.atMost, ratio?.atLeast].map((times) => (times === undefined ? undefined : times * base.median)));
  return [...new Set(asked.filter((value) => value !== undefined))];
}

/** On a logarithmic axis a 0 is drawn at its left end. */
function scaleOf(values: readonly number[]): Panel['scale'] {
  const positive = values.filter((value) => value > 0);
  const [least, most] = [Math.min(...positive), Math.max(...positive)];
  if (positive.length === 0 || most / least < WIDE_SPAN || values.some((value) => value < 0)) return 'linear';
  const exponent = (value: number) => Math.log10(value);
  return { log: { from: 10 ** Math.floor(exponent(least)), to: 10 ** Math.ceil(exponent(most)) } };
}
