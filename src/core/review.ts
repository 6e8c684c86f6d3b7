import { type ChangeClass, diffSnapshots } from './diff.js';
import type { Rounds, Toolset } from './round-state.js';
import type { Snapshot } from './snapshot.js';

/** Which toolsets are under review, and what happens to the first list ever of one (CONTRACT.md 15). */
export interface ReviewPolicy {
  readonly toolsets: readonly string[] | '*';
  readonly first: 'hold' | 'trust';
}

/** What is known of one toolset under review. */
export interface Reviewed {
  /** The newest decision about each fingerprint. */
  readonly decisions: ReadonlyMap<string, 'approved' | 'rejected'>;
  /** The definitions that were served last; what a new list is compared with while the toolset is not live. */
  readonly approved: Snapshot | undefined;
}

export const NOTHING_REVIEWED: Reviewed = { decisions: new Map(), approved: undefined };

/** `pass`: it may go live. `hold`: somebody has to decide. `refuse`: somebody rejected this very fingerprint. */
export type ReviewResult = 'pass' | 'hold' | 'refuse';

export function isUnderReview(policy: ReviewPolicy | undefined, name: string): boolean {
  return policy !== undefined && (policy.toolsets === '*' || policy.toolsets.includes(name));
}

/** Whether a complete list that differs from the live snapshot may go live (CONTRACT.md 15.1, 15.2). Taking tools away needs no review. */
export function reviewList({ settings, reviewed }: Rounds, snapshot: Snapshot, live: Snapshot | undefined): ReviewResult {
  const { toolset: name, fingerprint } = snapshot;
  const policy = settings.review;
  if (policy === undefined || !isUnderReview(policy, name)) return 'pass';
  const { decisions, approved } = reviewed.get(name) ?? NOTHING_REVIEWED;
  const decision = decisions.get(fingerprint);
  if (decision !== undefined) return decision === 'approved' ? 'pass' : 'refuse';
  const known = live ?? approved;
  if (known === undefined && policy.first === 'trust') return 'pass';
  return known?.fingerprint === fingerprint || diffSnapshots(known, snapshot).classes.length === 0 ? 'pass' : 'hold';
}

/** What a list that waits is compared with: the live snapshot, or else what was approved last. */
export function comparedWith({ live, reviewed }: Rounds, name: string): Snapshot | undefined {
  return live?.snapshots.find(({ toolset }) => toolset === name) ?? reviewed.get(name)?.approved;
}

/** What a list that waits would change, as classes; none where nothing waits. */
export function heldClasses(rounds: Rounds, { name, waiting }: Toolset): readonly ChangeClass[] {
  return waiting === null ? [] : diffSnapshots(comparedWith(rounds, name), waiting.snapshot).classes;
}
