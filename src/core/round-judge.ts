import { rebuildDelayMs } from './backoff.js';
import { afterNotifiedList } from './echo.js';
import type { CodedError } from './errors.js';
import { isNews, isUnannounced, judgeList, waitingAfter } from './list-judgement.js';
import { isUnderReview } from './review.js';
import { change, changeToolset, type Draft, isUnheard, liveSnapshot, PLAIN_ASK } from './round-draft.js';
import { makeDue, openAtOnce } from './round-due.js';
import { rememberApproved } from './round-review.js';
import type { CatalogChange, ConcludedRound, OpenRound, RoundEvent } from './round-state.js';
import type { Outcome } from './status.js';
import { payToken } from './swap-tokens.js';

/** The first generation waits so long for the others after the first toolset has answered (CONTRACT.md 11.1). */
export const START_WAIT_MS = 2_000;
/** The one more list after a notified list without change (CONTRACT.md 3.9). */
const FOLLOW_UP_MS = 1_000;
/** A change that a poll found may still be announced for so long (CONTRACT.md 2.5). */
const ANNOUNCE_MS = 2_000;

/** Whether a round has all that it waits for. */
export function resultsAreIn(draft: Draft, round: OpenRound): boolean {
  if (draft.state.live === null) return mayBuildFirst(draft);
  for (const { kind } of round.members.values()) if (kind === 'listing' || kind === 'asking') return false;
  return true;
}

function mayBuildFirst({ state, toolsets, moment }: Draft): boolean {
  if (state.firstAnswerAt === null) return false;
  if (moment.now >= state.firstAnswerAt + START_WAIT_MS) return true;
  for (const toolset of toolsets.values()) if (toolset.listedAt === null) return false;
  return true;
}

/** Names in the live catalog that no toolset of the index bears any more. */
export function removedNames({ state, toolsets }: Draft): string[] {
  if (state.live === null) return [];
  const names = new Set([...toolsets.values()].map(({ name }) => name));
  return state.live.snapshots.map(({ toolset }) => toolset).filter((name) => !names.has(name));
}

/** Every list of the round has completed, failed or left: what does that come to? */
export function concludeListing(draft: Draft, round: OpenRound): void {
  const first = draft.state.live === null;
  const failed = [...round.members].flatMap(([id, member]) => (member.kind === 'failed' ? [{ id, error: member.error }] : []));
  if (failed.length > 0 && !first) {
    conclude(draft, round, { outcome: 'aborted', error: failed[0]?.error ?? null });
    // The complete lists of this round are judged at once, without those that failed.
    if ([...draft.toolsets.values()].some(({ verdict }) => verdict !== null)) openAtOnce(draft, round.trigger);
    return;
  }
  const judged = first ? withEveryAnswer(draft, round) : round;
  const { changes, held } = judge(draft, judged);
  // Where all that answered is held, the first agent has no tools; otherwise nobody could be reached to decide.
  if (changes.length > 0 || (first && held.length > 0)) {
    change(draft, { phase: { kind: 'building', round: judged, changes, held } });
    draft.effects.push({ type: 'build', base: draft.state.live, changes });
    return;
  }
  conclude(draft, judged, { outcome: held.length > 0 ? 'held' : 'unchanged', held });
}

/** The first generation takes in whatever has answered by then, however it came; what is still being listed joins later. */
function withEveryAnswer(draft: Draft, round: OpenRound): OpenRound {
  const members = new Map(round.members);
  for (const { id, verdict, work } of [...draft.toolsets.values()]) {
    if (verdict?.kind === 'complete') members.set(id, { kind: 'done' });
    if (work.doing === 'listing' && work.role === 'round') {
      members.set(id, { kind: 'late' });
      changeToolset(draft, id, { work: { ...work, role: 'late' } });
    }
  }
  return { ...round, members };
}

function judge(draft: Draft, round: OpenRound): { changes: CatalogChange[]; held: string[] } {
  const changes = new Map<string, CatalogChange>();
  const held: string[] = [];
  for (const [id, member] of round.members) {
    const toolset = draft.toolsets.get(id);
    if (member.kind !== 'done' || toolset?.verdict?.kind !== 'complete') continue;
    const { verdict } = toolset;
    const live = liveSnapshot(draft.state, toolset.name);
    const judgement = judgeList(draft, toolset, verdict, live);
    const changed = isNews(toolset, judgement);
    changeToolset(draft, id, {
      verdict: null,
      waiting: waitingAfter(toolset, judgement),
      echo: verdict.ask.notified ? afterNotifiedList(toolset.echo, changed) : toolset.echo,
      suspectUntil: changed && isUnannounced(toolset, verdict) ? draft.moment.now + ANNOUNCE_MS : toolset.suspectUntil,
    });
    if ((judgement.kind === 'same' || judgement.kind === 'refused') && verdict.ask.verify) {
      makeDue(draft, id, { ...PLAIN_ASK, trigger: round.trigger }, draft.moment.now + FOLLOW_UP_MS);
    }
    if (judgement.kind === 'held' && judgement.waiting.reason !== 'rejected') held.push(toolset.name);
    if (judgement.kind === 'change' && (toolset.standing === 'wanted' || !changes.has(toolset.name))) {
      changes.set(toolset.name, { name: toolset.name, id, snapshot: verdict.snapshot, unheard: isUnheard(verdict) });
    }
    const approved = live === undefined ? draft.state.reviewed.get(toolset.name)?.approved : undefined;
    if (approved !== undefined && judgement.kind !== 'change' && !changes.has(toolset.name)) {
      // Until somebody decides, what was approved last is served from where the toolset is now.
      changes.set(toolset.name, { name: toolset.name, id, snapshot: { ...approved, id, url: verdict.snapshot.url }, unheard: false });
    }
  }
  for (const name of removedNames(draft)) {
    const live = liveSnapshot(draft.state, name);
    if (live !== undefined) changes.set(name, { name, id: live.id, snapshot: null, unheard: false });
  }
  return { changes: [...changes.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), held: held.sort() };
}

/** The build that a round asked for has ended, with an agent or without. */
export function concludeBuild(draft: Draft, event: Extract<RoundEvent, { type: 'built' }>): void {
  const { phase } = draft.state;
  if (phase.kind !== 'building') return;
  const { round, changes, held } = phase;
  const before = draft.state.live;
  const rejected = new Set(event.rejected);
  for (const entry of changes) {
    if (rejected.has(entry.name)) reject(draft, entry, round);
    else if (event.catalog !== null) accept(draft, entry, before !== null);
  }
  if (event.catalog !== null) change(draft, { live: event.catalog });
  conclude(draft, round, {
    outcome: event.catalog === null ? 'rejected' : 'swapped',
    swapped: [...event.accepted].sort(),
    unheard: changes.filter(({ name, unheard }) => unheard && event.accepted.includes(name)).map(({ name }) => name),
    held,
    before,
    error: event.error,
  });
}

function accept(draft: Draft, { name, id, snapshot }: CatalogChange, paid: boolean): void {
  const toolset = draft.toolsets.get(id);
  if (snapshot !== null && isUnderReview(draft.state.settings.review, name)) rememberApproved(draft, snapshot);
  if (toolset !== undefined && snapshot !== null) {
    const { waiting, verdict } = toolset;
    const isDecided = verdict?.kind === 'complete' && verdict.ask.manual === 'name';
    changeToolset(draft, id, {
      // What was approved last became live; the change to it waits on, or was approved meanwhile.
      waiting: waiting?.reason === 'review' && waiting.snapshot.fingerprint !== snapshot.fingerprint ? waiting : null,
      verdict: verdict?.kind === 'complete' && verdict.from === 'waiting' && !isDecided ? null : verdict,
      tokens: paid ? payToken(toolset.tokens, draft.moment.now) : toolset.tokens,
    });
  }
  // A toolset that moved to another URL has given a complete list there, so the old place is no longer needed.
  for (const other of [...draft.toolsets.values()]) {
    if (other.name !== name || other.id === id || other.standing !== 'replaced') continue;
    draft.toolsets.delete(other.id);
    draft.effects.push({ type: 'dismissed', id: other.id });
  }
}

function reject(draft: Draft, { id, snapshot }: CatalogChange, round: OpenRound): void {
  const toolset = draft.toolsets.get(id);
  if (toolset === undefined || snapshot === null || toolset.waiting?.reason === 'review') return;
  const { now } = draft.moment;
  const again = toolset.waiting?.reason === 'rejected' && toolset.waiting.snapshot.fingerprint === snapshot.fingerprint;
  const attempts = (again && toolset.waiting?.reason === 'rejected' ? toolset.waiting.attempts : 0) + 1;
  const delayMs = rebuildDelayMs(attempts);
  const retryAt = delayMs === undefined ? undefined : now + delayMs;
  const ask = { ...PLAIN_ASK, trigger: round.trigger };
  changeToolset(draft, id, { waiting: { reason: 'rejected', snapshot, since: now, attempts, retryAt, ask } });
}

interface Conclusion {
  readonly outcome: Outcome;
  readonly swapped?: readonly string[];
  readonly unheard?: readonly string[];
  readonly held?: readonly string[];
  readonly before?: ConcludedRound['before'];
  readonly error?: CodedError | null;
}

function conclude(
  draft: Draft,
  round: OpenRound,
  { outcome, swapped = [], unheard = [], held = [], before, error = null }: Conclusion,
): void {
  const namesOf = (kind: string) =>
    [...round.members]
      .filter(([, member]) => member.kind === kind)
      .map(([id]) => draft.toolsets.get(id)?.name ?? id)
      .sort();
  const known = [...round.members.values()].find((member) => member.kind === 'still-failing');
  const first = before === null && outcome === 'swapped';
  const failing = first ? missing(draft) : [...namesOf('failed'), ...namesOf('still-failing')].sort();
  const { live } = draft.state;
  change(draft, { phase: { kind: 'idle' } });
  draft.effects.push({
    type: 'concluded',
    record: {
      round: round.number,
      outcome,
      trigger: round.trigger,
      openedAt: round.openedAt,
      listed: namesOf('done'),
      swapped,
      unheard,
      held,
      late: namesOf('late'),
      failing,
      before: before === undefined ? live : before,
      after: live,
      error: error ?? known?.error ?? null,
      requests: round.requests,
    },
  });
}

/** Toolsets that have not answered in time for the first generation. */
function missing({ toolsets }: Draft): string[] {
  return [...toolsets.values()]
    .filter(({ listedAt }) => listedAt === null)
    .map(({ name }) => name)
    .sort();
}
