import { afterNotification } from './echo.js';
import { afterSignal, atOnce, within } from './quiet-window.js';
import { change, changeToolset, type Draft, mergeAsks, PLAIN_ASK } from './round-draft.js';
import type { Ask, Membership, Toolset } from './round-state.js';
import type { Trigger } from './status.js';
import { hasToken, paceMs, tokenAt } from './swap-tokens.js';

/** A list that has run for so long gives up its place and leaves its round (CONTRACT.md 3.3). */
const LATE_MS = 2_000;
/** A failing toolset that calls for attention is not asked more often than this. */
export const CALLED_RETRY_MS = 2_000;
/** While a list waits for a swap token, a notification waits so long: what it announces cannot become live yet, and some servers notify because they were listed. */
const FLAPPING_WAIT_MS = 2_000;
/** When an empty list is confirmed, counted from the first empty one (CONTRACT.md 3.8). */
export const CONFIRM_MS = [2_000, 10_000, 30_000] as const;

/** A toolset is to be listed, not before `at`; a round opens for it. */
export function makeDue(draft: Draft, id: string, ask: Ask, at = draft.moment.now): void {
  const toolset = draft.toolsets.get(id);
  if (toolset === undefined) return;
  const due = { ...mergeAsks(toolset.due, ask), at: Math.min(toolset.due?.at ?? Number.POSITIVE_INFINITY, at) };
  changeToolset(draft, id, { due });
  if (at <= draft.moment.now) openWindow(draft, ask.trigger);
}

export function openWindow(draft: Draft, trigger: Trigger): void {
  const { window, settings } = draft.state;
  change(draft, { window: afterSignal(window, { now: draft.moment.now, debounceMs: settings.debounceMs, trigger }) });
}

export function openAtOnce(draft: Draft, trigger: Trigger): void {
  change(draft, { window: atOnce(draft.state.window, { now: draft.moment.now, trigger }) });
}

/** With more toolsets than this on their way to their first answer, those that have arrived wait for each other. */
const FEW_ON_THEIR_WAY = 8;
const GATHER_MS = 1_000;

/**
 * A list that had left its round is complete. It opens a round of its own at once; but while many toolsets are still on their way to their
 * first answer, as after a start with hundreds, those that arrive within a second share one: otherwise each of them would cost a generation.
 */
export function openForArrival(draft: Draft, trigger: Trigger): void {
  let onTheirWay = 0;
  for (const { listedAt, failure, work } of draft.toolsets.values()) {
    if (listedAt === null && failure === null && work.doing === 'listing') onTheirWay += 1;
  }
  const { now } = draft.moment;
  if (onTheirWay <= FEW_ON_THEIR_WAY) openAtOnce(draft, trigger);
  else change(draft, { window: within(draft.state.window, { now, ms: GATHER_MS, trigger }) });
}

/** A signal about one toolset (CONTRACT.md 2.5). */
export function receiveSignal(draft: Draft, id: string, trigger: Trigger): void {
  const toolset = draft.toolsets.get(id);
  if (toolset === undefined) return;
  const { now } = draft.moment;
  const notified = trigger === 'notification';
  const { debounceMs } = draft.state.settings;
  let waitMs = 0;
  let paced = 0;
  if (notified) {
    const after = afterNotification(toolset.echo, now);
    waitMs = Math.max(after.waitMs, toolset.waiting?.reason === 'flapping' ? FLAPPING_WAIT_MS : 0);
    paced = paceMs(toolset.tokens, { now, debounceMs });
    changeToolset(draft, id, { echo: after.echo, notifiedAt: now, suspectUntil: null });
  }
  const ask: Ask = { ...PLAIN_ASK, trigger, notified, verify: notified && waitMs === 0 };
  if (toolset.failure !== null) {
    // A failing toolset stays out of the rounds, but a sign of life brings its next try forward.
    if (toolset.work.doing === 'retrying') {
      const at = Math.max(now + debounceMs, toolset.failure.triedAt + CALLED_RETRY_MS);
      changeToolset(draft, id, { work: { doing: 'retrying', at: Math.min(toolset.work.at, at) } });
    } else {
      changeToolset(draft, id, { due: { ...mergeAsks(toolset.due, ask), at: now } });
    }
    return;
  }
  makeDue(draft, id, ask, now + Math.max(waitMs, paced));
}

/** Sets the time of the next poll. The first one falls anywhere in the interval, so that polls spread over it (CONTRACT.md 3.11). */
export function schedulePoll(draft: Draft, toolset: Toolset, turn: 'first' | 'next'): void {
  const { pollMs, pollingMs } = draft.state.settings;
  if (pollMs === 0) return;
  const interval = toolset.watching ? pollMs : Math.min(pollMs, pollingMs);
  const chance = draft.moment.random();
  const delay = turn === 'first' ? interval * (0.1 + 0.9 * chance) : interval * (0.9 + 0.2 * chance);
  changeToolset(draft, toolset.id, { pollAt: draft.moment.now + delay });
}

export function startList(draft: Draft, toolset: Toolset, role: 'round' | 'retry', ask: Ask): void {
  const list = draft.state.lastList + 1;
  change(draft, { lastList: list });
  changeToolset(draft, toolset.id, {
    due: null,
    verdict: null,
    work: { doing: 'listing', list, ask, role, askedAt: draft.moment.now, startedAt: null, leftPlace: false },
  });
  draft.effects.push({ type: 'list', id: toolset.id, list, notified: ask.notified });
}

/** A list has ended that a request found in flight: it is followed by the one that the request is waiting for. */
export function listAgainForRequest(draft: Draft, id: string): boolean {
  const { phase } = draft.state;
  const toolset = draft.toolsets.get(id);
  const membership = phase.kind === 'listing' ? phase.round.members.get(id)?.kind : undefined;
  if (toolset?.due == null || toolset.due.manual === 'no' || (membership !== 'listing' && membership !== 'asking')) return false;
  startList(draft, toolset, 'round', toolset.due);
  return true;
}

export function setMembership(draft: Draft, id: string, membership: Membership | undefined): void {
  const { phase } = draft.state;
  if (phase.kind !== 'listing') return;
  const members = new Map(phase.round.members);
  if (membership === undefined) members.delete(id);
  else if (members.has(id)) members.set(id, membership);
  change(draft, { phase: { kind: 'listing', round: { ...phase.round, members } } });
}

/** A request waits for the round that opens next; its list takes the place of a retry. */
function isAsked({ due }: Toolset): boolean {
  return due !== null && due.manual !== 'no';
}

function isMember({ state: { phase } }: Draft, id: string): boolean {
  return phase.kind === 'listing' && phase.round.members.has(id);
}

/** Whatever was to happen by now happens. */
export function passTime(draft: Draft): void {
  for (const toolset of [...draft.toolsets.values()]) {
    if (nextOf(toolset) <= draft.moment.now) passTimeOf(draft, toolset);
  }
}

function passTimeOf(draft: Draft, toolset: Toolset): void {
  const { now } = draft.moment;
  const { id, work, waiting } = toolset;
  if (work.doing === 'listing' && work.startedAt !== null && !work.leftPlace && now >= work.startedAt + LATE_MS) {
    draft.effects.push({ type: 'leave-place', id, list: work.list });
    changeToolset(draft, id, { work: { ...work, leftPlace: true, role: work.role === 'round' ? 'late' : work.role } });
    setMembership(draft, id, { kind: 'late' });
    // A round that found this list in flight answers its requests without it; the list that they wanted still follows.
    if (work.role === 'retry' && toolset.due !== null && isMember(draft, id))
      changeToolset(draft, id, { due: { ...toolset.due, manual: 'no' } });
  }
  if (work.doing === 'retrying' && now >= work.at && !isAsked(toolset)) {
    startList(draft, toolset, 'retry', { ...PLAIN_ASK, trigger: 'reconnect' });
  }
  if (toolset.pollAt !== null && now >= toolset.pollAt) {
    schedulePoll(draft, toolset, 'next');
    if (toolset.failure === null && work.doing === 'resting') makeDue(draft, id, { ...PLAIN_ASK, trigger: 'poll', polled: true });
  }
  if (toolset.suspectUntil !== null && now >= toolset.suspectUntil) {
    changeToolset(draft, id, { suspectUntil: null, missedSignals: toolset.missedSignals + 1 });
    draft.effects.push({ type: 'missed', id });
  }
  if (waiting !== null && now >= waitingUntil(toolset)) passWaiting(draft, toolset, waiting);
}

function passWaiting(draft: Draft, toolset: Toolset, waiting: NonNullable<Toolset['waiting']>): void {
  switch (waiting.reason) {
    case 'empty':
      makeDue(draft, toolset.id, { ...PLAIN_ASK, trigger: waiting.ask.trigger, confirming: true });
      return;
    case 'rejected':
      changeToolset(draft, toolset.id, { waiting: { ...waiting, retryAt: undefined } });
      break;
    case 'review':
      return;
    case 'flapping':
      if (!hasToken(toolset.tokens, draft.moment.now)) return;
      break;
  }
  const { snapshot, ask } = waiting;
  changeToolset(draft, toolset.id, { verdict: { kind: 'complete', snapshot, ask, from: 'waiting', announced: true } });
  openAtOnce(draft, ask.trigger);
}

/** When what a held list waits for comes; infinite while something is under way already. */
function waitingUntil({ waiting, verdict, due, work, tokens }: Toolset): number {
  if (waiting === null || verdict !== null || work.doing !== 'resting') return Number.POSITIVE_INFINITY;
  switch (waiting.reason) {
    case 'empty':
      return due?.confirming ? Number.POSITIVE_INFINITY : waiting.since + (CONFIRM_MS[waiting.confirmed] ?? Number.POSITIVE_INFINITY);
    case 'review':
      return Number.POSITIVE_INFINITY;
    case 'flapping':
      return tokenAt(tokens);
    case 'rejected':
      return waiting.retryAt ?? Number.POSITIVE_INFINITY;
  }
}

/** When time alone next changes something about this toolset; a list that is due waits for a round instead. */
export function nextOf(toolset: Toolset): number {
  const { work, pollAt, suspectUntil } = toolset;
  let next = waitingUntil(toolset);
  if (work.doing === 'listing' && work.startedAt !== null && !work.leftPlace) next = Math.min(next, work.startedAt + LATE_MS);
  if (work.doing === 'retrying' && !isAsked(toolset)) next = Math.min(next, work.at);
  if (pollAt !== null) next = Math.min(next, pollAt);
  if (suspectUntil !== null) next = Math.min(next, suspectUntil);
  return next;
}
