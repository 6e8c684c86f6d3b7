import type { Trigger } from './status.js';

/** The time between the first signal and the round that it opens. */
export interface QuietWindow {
  readonly firstAt: number;
  readonly openAt: number;
  /** What opened the window; the round records it. */
  readonly trigger: Trigger;
}

/**
 * A signal came: the round opens when `debounceMs` have passed since the last signal, and at the latest ten times that after
 * the first, so that a steady stream of signals cannot put it off for ever (CONTRACT.md 3.2).
 */
export function afterSignal(
  window: QuietWindow | null,
  { now, debounceMs, trigger }: { now: number; debounceMs: number; trigger: Trigger },
): QuietWindow {
  const firstAt = window?.firstAt ?? now;
  // A window that is already over stays over: a late signal joins that round, it does not delay it.
  const openAt = window !== null && window.openAt <= now ? window.openAt : Math.min(now + debounceMs, firstAt + 10 * debounceMs);
  return { firstAt, openAt, trigger: window?.trigger ?? trigger };
}

/** A round is wanted after so long at the latest, whatever comes meanwhile: for what arrives one by one and is to be judged together. */
export function within(window: QuietWindow | null, { now, ms, trigger }: { now: number; ms: number; trigger: Trigger }): QuietWindow {
  const openAt = Math.min(window?.openAt ?? Number.POSITIVE_INFINITY, now + ms);
  return { firstAt: window?.firstAt ?? now, openAt, trigger: window?.trigger ?? trigger };
}

/** A round is wanted without any wait: what it judges is already here. */
export function atOnce(window: QuietWindow | null, { now, trigger }: { now: number; trigger: Trigger }): QuietWindow {
  return { firstAt: window?.firstAt ?? now, openAt: now, trigger: window?.trigger ?? trigger };
}
