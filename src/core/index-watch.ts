import { retryDelayMs } from './backoff.js';
import { type CodedError, patienceOf } from './errors.js';

/** A second good read must confirm that a toolset is gone, no sooner than this after the first (CONTRACT.md 3.12). */
const CONFIRM_MS = 1_000;
/** When more than half vanish at once, three reads over at least this time are needed. */
const MASS_CONFIRM_MS = 60_000;

interface Missing {
  /** When the first good read without it was made. */
  readonly since: number;
  readonly reads: number;
  /** More than half of the toolsets vanished in the same read. */
  readonly mass: boolean;
}

/** What is held of the index: the last good one, and what is not believed yet. */
export interface IndexWatch {
  /** The toolsets that count, by name, with the id that the index gave them last. */
  readonly known: ReadonlyMap<string, string>;
  readonly missing: ReadonlyMap<string, Missing>;
  readonly failures: number;
  readonly failingSince: number | null;
}

export const NO_INDEX: IndexWatch = { known: new Map(), missing: new Map(), failures: 0, failingSince: null };

/**
 * A good read named these toolsets (name → id). Additions and moves count at once; a toolset that is missing stays known until
 * enough good reads agree. `massVanish` is true in the read in which more than half vanish.
 */
export function afterGoodRead(
  watch: IndexWatch,
  named: ReadonlyMap<string, string>,
  now: number,
): { watch: IndexWatch; massVanish: boolean } {
  const gone = [...watch.known.keys()].filter((name) => !named.has(name));
  const fresh = gone.filter((name) => !watch.missing.has(name));
  // What is missing already does not count: several small disappearances may add up to a large one.
  const massVanish = fresh.length > (watch.known.size - watch.missing.size) / 2;
  const known = new Map(named);
  const missing = new Map<string, Missing>();
  for (const name of gone) {
    const before = watch.missing.get(name);
    const entry = before === undefined ? { since: now, reads: 1, mass: massVanish } : { ...before, reads: before.reads + 1 };
    if (isConfirmed(entry, now)) continue;
    missing.set(name, entry);
    known.set(name, watch.known.get(name) ?? '');
  }
  return { watch: { known, missing, failures: 0, failingSince: null }, massVanish };
}

function isConfirmed({ since, reads, mass }: Missing, now: number): boolean {
  return mass ? reads >= 3 && now - since >= MASS_CONFIRM_MS : reads >= 2 && now - since >= CONFIRM_MS;
}

/** A read failed: nothing that is held changes. */
export function afterFailedRead(watch: IndexWatch, now: number): IndexWatch {
  return { ...watch, failures: watch.failures + 1, failingSince: watch.failingSince ?? now };
}

export interface NextReadAsk {
  readonly now: number;
  /** The ordinary interval; 0 when the index is read on request only. */
  readonly everyMs: number;
  /** Why the last read failed, if it did. */
  readonly error: CodedError | null;
  readonly chance: number;
}

/** How long to wait before the index is read again, in milliseconds; undefined when only a request reads it. */
export function nextReadMs(watch: IndexWatch, { now, everyMs, error, chance }: NextReadAsk): number | undefined {
  if (error !== null) {
    const failingForMs = now - (watch.failingSince ?? now);
    return retryDelayMs({ patience: patienceOf(error), failures: watch.failures, failingForMs, retryAfterMs: error.retryAfterMs, chance });
  }
  const confirmations = [...watch.missing.values()].map(({ since, reads, mass }) => {
    if (!mass) return since + CONFIRM_MS - now;
    return since + (reads === 1 ? MASS_CONFIRM_MS / 2 : MASS_CONFIRM_MS) - now;
  });
  // The ordinary interval is spread by a tenth, so that many instances do not read together.
  if (everyMs > 0) confirmations.push(everyMs * (0.9 + 0.2 * chance));
  return confirmations.length === 0 ? undefined : Math.max(50, Math.min(...confirmations));
}
