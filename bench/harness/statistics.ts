/** One figure out of several rounds: the median, and how far the rounds lie apart. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly rounds: number;
}

/** A row whose largest round is more than this many times its smallest is no result. */
const STABLE_WITHIN = 2;

/** The quantile (0 to 1) of the values by linear interpolation; NaN without values. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * q;
  const low = sorted[Math.floor(at)];
  const high = sorted[Math.ceil(at)];
  if (low === undefined || high === undefined) return Number.NaN;
  return low + (high - low) * (at - Math.floor(at));
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function spreadOf(rounds: readonly number[]): Spread {
  return { median: median(rounds), min: Math.min(...rounds), max: Math.max(...rounds), rounds: rounds.length };
}

/** Whether the rounds lie so near to each other that their median means something. Counts and values near 0 (`floor`) are. */
export function isStable({ min, max }: Spread, floor = 0): boolean {
  return max <= Math.max(min, floor) * STABLE_WITHIN;
}

/** The rounds' ratios, pair by pair: `ours[i] / other[i]` of the same round. */
export function ratios(ours: readonly number[], other: readonly number[]): number[] {
  return ours.map((value, round) => value / (other[round] ?? Number.NaN)).filter((ratio) => Number.isFinite(ratio));
}

/** The slope of the line that lies nearest to the points (least squares); NaN for fewer than two different `x`. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / points.length;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / points.length;
  const covariance = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  return covariance / points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
}
