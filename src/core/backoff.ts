import type { Patience } from './errors.js';

const SOON_PERIOD_MS = 120_000;
const LONGEST_MS = 60_000;

export interface RetryAsk {
  readonly patience: Patience;
  /** Failed tries in a row, this one included: 1 after the first. */
  readonly failures: number;
  /** How long the toolset has been failing, in milliseconds. */
  readonly failingForMs: number;
  /** What the server's `Retry-After` asked for; it only ever lengthens the delay. */
  readonly retryAfterMs?: number | undefined;
  /** A random number in [0, 1). */
  readonly chance: number;
}

/**
 * How long a failing toolset is left alone before it is asked again, in milliseconds (CONTRACT.md 3.6).
 * `soon` keeps to 0.5–1 s for two minutes, so that a restart is found within a second, and then doubles up to a minute.
 */
export function retryDelayMs({ patience, failures, failingForMs, retryAfterMs = 0, chance }: RetryAsk): number {
  return Math.max(plannedDelayMs(patience, failures, failingForMs, chance), retryAfterMs);
}

function plannedDelayMs(patience: Patience, failures: number, failingForMs: number, chance: number): number {
  switch (patience) {
    case 'soon': {
      if (failingForMs < SOON_PERIOD_MS) return 500 + 500 * chance;
      // The time already spent failing stands in for the number of doublings, so a slow try counts as much as several quick ones.
      const doublings = Math.floor((failingForMs - SOON_PERIOD_MS) / 10_000);
      return jittered(Math.min(LONGEST_MS, 1_000 * 2 ** Math.min(doublings, 10)), chance);
    }
    case 'later':
      return jittered(Math.min(LONGEST_MS, 2_000 * 2 ** Math.min(failures - 1, 10)), chance);
    case 'rarely':
      return jittered(LONGEST_MS, chance);
  }
}

/** Spreads a delay over 80–100 % of itself, so that many toolsets that fail together do not come back together. */
function jittered(delayMs: number, chance: number): number {
  return delayMs * (0.8 + 0.2 * chance);
}

/** After a rejected build: 1, 5 and 30 s, then only at a poll, which is `undefined` here (CONTRACT.md 3.7). */
export function rebuildDelayMs(attempts: number): number | undefined {
  return [1_000, 5_000, 30_000][attempts - 1];
}
