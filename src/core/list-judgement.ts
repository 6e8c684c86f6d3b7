import { reviewList } from './review.js';
import type { Draft } from './round-draft.js';
import { CONFIRM_MS } from './round-due.js';
import type { Toolset, Verdict } from './round-state.js';
import type { Snapshot } from './snapshot.js';
import { hasToken } from './swap-tokens.js';
import type { Waiting } from './waiting.js';

/** What the toolset's list waits for after this judgement. */
export function waitingAfter({ waiting }: Toolset, judgement: Judgement): Waiting | null {
  if (judgement.kind === 'held') return judgement.waiting;
  // A rejected snapshot that is tried again keeps the number of its attempts until it is in an agent.
  return judgement.kind === 'change' && waiting?.reason === 'rejected' ? waiting : null;
}

/** A change that waits for review is no news when it is found again, and one that was rejected never is. */
export function isNews({ waiting }: Toolset, judgement: Judgement): boolean {
  if (judgement.kind !== 'held') return judgement.kind === 'change';
  const { reason, snapshot } = judgement.waiting;
  return !(reason === 'review' && waiting?.reason === 'review' && waiting.snapshot.fingerprint === snapshot.fingerprint);
}

/** Whether a poll found what a watching toolset should have announced (CONTRACT.md 2.5). */
export function isUnannounced(toolset: Toolset, { ask, announced, from }: Extract<Verdict, { kind: 'complete' }>): boolean {
  return from === 'list' && ask.polled && !announced && toolset.watching;
}

/** What a complete list comes to. */
export type Judgement =
  | { readonly kind: 'same' | 'change' }
  /** Somebody rejected it: the live snapshot stays, and nothing waits. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'held'; readonly waiting: Waiting };

/** Judges one complete list: the first that applies (CONTRACT.md 3.7 to 3.10, 15.1). */
export function judgeList(
  { moment, state }: Draft,
  { waiting, tokens }: Toolset,
  { snapshot, ask, from }: Extract<Verdict, { kind: 'complete' }>,
  live: Snapshot | undefined,
): Judgement {
  const { now } = moment;
  if (live?.id === snapshot.id && live.fingerprint === snapshot.fingerprint) return { kind: 'same' };
  if (isEmpty(snapshot) && live !== undefined && !isEmpty(live)) {
    const held = waiting?.reason === 'empty' ? waiting : null;
    const confirmed = held === null ? 0 : held.confirmed + (ask.confirming ? 1 : 0);
    if (confirmed < CONFIRM_MS.length) {
      return { kind: 'held', waiting: { reason: 'empty', snapshot, since: held?.since ?? now, confirmed, ask: held?.ask ?? ask } };
    }
  }
  const review = reviewList(state, snapshot, live);
  if (review === 'refuse') return { kind: 'refused' };
  if (review === 'hold') {
    const since = waiting?.reason === 'review' && waiting.snapshot.fingerprint === snapshot.fingerprint ? waiting.since : now;
    return { kind: 'held', waiting: { reason: 'review', snapshot, since, ask } };
  }
  const asked = ask.manual !== 'no' || from === 'waiting';
  if (waiting?.reason === 'rejected' && waiting.snapshot.fingerprint === snapshot.fingerprint && !asked && !ask.polled) {
    return { kind: 'held', waiting };
  }
  if (state.live !== null && ask.manual === 'no' && !hasToken(tokens, now)) {
    const since = waiting?.reason === 'flapping' ? waiting.since : now;
    return { kind: 'held', waiting: { reason: 'flapping', snapshot, since, ask } };
  }
  return { kind: 'change' };
}

/** Whether the toolset offers nothing at all, withheld tools included. */
export function isEmpty({ tools, withheld }: Snapshot): boolean {
  return tools.length === 0 && withheld.length === 0;
}
