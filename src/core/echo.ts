/**
 * How trustworthy a toolset's notifications are: servers that notify because they were listed would otherwise be listed for
 * ever (CONTRACT.md 3.9).
 */
export interface Echo {
  /** Notified lists in a row that showed no change. */
  readonly idleInRow: number;
  readonly lastNotifiedAt: number;
}

export const NO_ECHO: Echo = { idleInRow: 0, lastNotifiedAt: Number.NEGATIVE_INFINITY };

const QUIET_MS = 60_000;
const FIRST_WAIT_MS = 2_000;
const LONGEST_WAIT_MS = 10_000;

/** A notification came at `now`: the new state, and how long the list has to wait for it. */
export function afterNotification(echo: Echo, now: number): { echo: Echo; waitMs: number } {
  const idleInRow = now - echo.lastNotifiedAt >= QUIET_MS ? 0 : echo.idleInRow;
  const waitMs = idleInRow < 2 ? 0 : Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(idleInRow - 2, 10));
  return { echo: { idleInRow, lastNotifiedAt: now }, waitMs };
}

/** A list that a notification asked for was judged. */
export function afterNotifiedList(echo: Echo, changed: boolean): Echo {
  return { ...echo, idleInRow: changed ? 0 : echo.idleInRow + 1 };
}
