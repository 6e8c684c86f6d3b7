import type { Round, Status } from './answers.js';
import { shownText } from './shown-text.js';

/** What a round means for the one who asked for it. */
export type Verdict =
  | { readonly kind: 'good' }
  | { readonly kind: 'bad'; readonly why: 'failing' | 'rejected' | 'held' | 'late' }
  /** The round ended without an answer about the toolset that was asked for. */
  | { readonly kind: 'ask-again'; readonly reason: string };

/**
 * A round is about every toolset that was due, so its outcome may be about others than the one that was asked for: another toolset's
 * failed list aborts the round, and another one's change makes it `swapped`. Without a toolset, all of them count, also those that failed before
 * the round and still do: what they offer is not live.
 */
export function judgeRound({ outcome, toolsets }: Round, toolset: string | undefined): Verdict {
  const concerned = (names: readonly string[]) => (toolset === undefined ? names.length > 0 : names.includes(toolset));
  if (outcome === 'aborted') {
    if (toolset === undefined || toolsets.failing.includes(toolset)) return { kind: 'bad', why: 'failing' };
    return { kind: 'ask-again', reason: 'another toolset failed in the same round' };
  }
  if (outcome === 'rejected') return { kind: 'bad', why: 'rejected' };
  if (concerned(toolsets.late)) return { kind: 'bad', why: 'late' };
  if (concerned(toolsets.held)) return { kind: 'bad', why: 'held' };
  if (concerned(toolsets.failing)) return { kind: 'bad', why: 'failing' };
  if (toolset !== undefined && ![...toolsets.listed, ...toolsets.swapped].includes(toolset)) {
    return { kind: 'ask-again', reason: 'it was not listed in that round' };
  }
  // A round that holds only another toolset's change found nothing new at the one that was asked for.
  if (outcome === 'held' && toolset === undefined) return { kind: 'bad', why: 'held' };
  return { kind: 'good' };
}

/**
 * Why not every replica is known to serve the fingerprint; undefined when every one does. Replicas tell each other only the
 * fingerprint of all their toolsets together, so all of them must agree with the one that answered (CONTRACT.md 16.3).
 */
export function whoWaits(status: Status, { toolset, expect }: { toolset: string | undefined; expect: string }): string | undefined {
  const { instance, fingerprint, generation, replicas, toolsets } = status;
  const asked = toolsets.filter(({ name }) => toolset === undefined || name === toolset);
  if (!asked.some((candidate) => candidate.fingerprint === expect)) {
    const found = asked.length === 1 ? (asked[0]?.fingerprint ?? 'no tools yet') : 'other fingerprints';
    return `${shownText(instance)} serves ${found} in generation ${generation}, not ${expect}.`;
  }
  const others = replicas.filter((replica) => replica.instance !== instance && replica.fingerprint !== fingerprint);
  const [first] = others;
  if (first === undefined) return undefined;
  return `${others.map((replica) => shownText(replica.instance)).join(', ')} of ${replicas.length} replicas differ from ${shownText(instance)}.`;
}
