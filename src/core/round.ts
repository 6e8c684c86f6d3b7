import { change, changeToolset, type Draft, openDraft } from './round-draft.js';
import { nextOf, openWindow, passTime, receiveSignal, startList } from './round-due.js';
import {
  receiveFailure,
  receiveIndex,
  receiveList,
  receiveRequest,
  receiveStart,
  receiveWatching,
  recordIndexFailure,
} from './round-events.js';
import { concludeBuild, concludeListing, removedNames, resultsAreIn, START_WAIT_MS } from './round-judge.js';
import { receiveDecision, rememberApproved, tellHeld } from './round-review.js';
import type { Membership, Moment, RoundEffect, RoundEvent, RoundSettings, Rounds, Toolset } from './round-state.js';

/** The state before the index was read and before anything was listed. */
export function beginRounds(settings: RoundSettings): Rounds {
  return {
    settings,
    phase: { kind: 'idle' },
    window: null,
    toolsets: new Map(),
    reviewed: new Map(),
    live: null,
    firstAnswerAt: null,
    indexRead: false,
    lastRound: 0,
    lastList: 0,
    requests: [],
  };
}

/**
 * Decides what follows from one event: the rounds of CONTRACT.md 3 as a pure function. It reads no clock and does nothing itself;
 * whoever calls it carries the effects out, in their order, and reports back with further events. A call with the `time` event is
 * due at {@link nextWakeAt}.
 */
export function step(state: Rounds, event: RoundEvent, moment: Moment): { state: Rounds; effects: readonly RoundEffect[] } {
  const draft = openDraft(state, moment);
  passTime(draft);
  receive(draft, event);
  settle(draft);
  tellHeld(draft, state);
  return { state: { ...draft.state, toolsets: draft.toolsets }, effects: draft.effects };
}

/** When time alone next changes something; infinite when only an event can. */
export function nextWakeAt({ phase, window, toolsets, live, firstAnswerAt }: Rounds, now: number): number {
  let next = Number.POSITIVE_INFINITY;
  if (phase.kind === 'idle' && window !== null) next = window.openAt;
  if (live === null && phase.kind === 'listing' && firstAnswerAt !== null) next = Math.min(next, firstAnswerAt + START_WAIT_MS);
  const opensForDue = phase.kind === 'idle' && window === null;
  for (const toolset of toolsets.values()) {
    next = Math.min(next, nextOf(toolset));
    const { due, work, failure } = toolset;
    // What is due already waits for the round under way or for the window that is open, not for time.
    if (due !== null && work.doing !== 'listing' && failure === null && (due.at > now || opensForDue)) next = Math.min(next, due.at);
  }
  return next;
}

function receive(draft: Draft, event: RoundEvent): void {
  switch (event.type) {
    case 'time':
      return;
    case 'index':
      receiveIndex(draft, event.toolsets);
      return;
    case 'index-failed':
      recordIndexFailure(draft, event.error);
      return;
    case 'signal':
      receiveSignal(draft, event.id, event.trigger);
      return;
    case 'request':
      receiveRequest(draft, event.request, event.id);
      return;
    case 'watching':
      receiveWatching(draft, event.id, event.watching);
      return;
    case 'started':
      receiveStart(draft, event);
      return;
    case 'listed':
      receiveList(draft, event);
      return;
    case 'failed':
      receiveFailure(draft, event);
      return;
    case 'approved':
      rememberApproved(draft, event.snapshot);
      return;
    case 'decided':
      receiveDecision(draft, event);
      return;
    case 'built':
      concludeBuild(draft, event);
      return;
  }
}

/** Concludes and opens rounds until nothing more follows from what is known now. */
function settle(draft: Draft): void {
  for (;;) {
    joinStartRound(draft);
    const { phase } = draft.state;
    if (phase.kind === 'listing' && resultsAreIn(draft, phase.round)) concludeListing(draft, phase.round);
    else if (phase.kind === 'idle' && isOpenNow(draft)) openRound(draft);
    else return;
  }
}

/** The first round takes in whatever the index names while it is open: nothing is live yet that it could hold up. */
function joinStartRound(draft: Draft): void {
  const { phase, live } = draft.state;
  if (live !== null || phase.kind !== 'listing') return;
  const joining = [...draft.toolsets.values()].filter(
    (toolset) => toolset.listedAt === null && toolset.failure === null && isRipe(toolset, draft.moment.now),
  );
  if (joining.length === 0) return;
  const members = new Map(phase.round.members);
  for (const toolset of joining) {
    if (toolset.due === null) continue;
    startList(draft, toolset, 'round', toolset.due);
    members.set(toolset.id, { kind: 'listing' });
  }
  change(draft, { phase: { kind: 'listing', round: { ...phase.round, members } } });
}

function isOpenNow(draft: Draft): boolean {
  const { now } = draft.moment;
  if (draft.state.window === null) {
    // A signal that had to wait is ripe now: its window opens as if it had just come.
    const ripe = [...draft.toolsets.values()].find((toolset) => isRipe(toolset, now) && toolset.failure === null);
    if (ripe?.due) openWindow(draft, ripe.due.trigger);
  }
  const { window } = draft.state;
  return window !== null && window.openAt <= now;
}

function isRipe({ due, work }: Toolset, now: number): boolean {
  return due !== null && due.at <= now && work.doing !== 'listing';
}

function openRound(draft: Draft): void {
  const { window, requests, lastRound } = draft.state;
  const { now } = draft.moment;
  if (window === null) return;
  const members = new Map<string, Membership>();
  for (const toolset of [...draft.toolsets.values()]) {
    const membership = join(draft, toolset);
    if (membership !== undefined) members.set(toolset.id, membership);
  }
  change(draft, { window: null });
  if (members.size === 0 && requests.length === 0 && removedNames(draft).length === 0) return;
  const number = lastRound + 1;
  const round = { number, trigger: window.trigger, openedAt: now, members, requests };
  change(draft, { lastRound: number, requests: [], phase: { kind: 'listing', round } });
}

/** What a toolset brings into the round that opens now: a list to wait for, a list that is here already, or nothing. */
function join(draft: Draft, toolset: Toolset): Membership | undefined {
  const { due, work, failure, verdict, id } = toolset;
  const wantsList = due !== null && due.at <= draft.moment.now;
  const asked = wantsList && due.manual !== 'no';
  // Judged also when it is due again: of a slow toolset that notifies all the time, no list would ever count otherwise.
  if (verdict?.kind === 'complete' && !asked) return { kind: 'done' };
  if (asked && work.doing === 'listing') {
    // One list at a time: the one in flight may be older than the request, so its round waits for the next one too.
    if (!work.leftPlace) return askingOrListing(toolset);
    changeToolset(draft, id, { due: { ...due, manual: 'no' } });
    return { kind: 'late' };
  }
  if (wantsList && work.doing !== 'listing' && (failure === null || asked)) {
    startList(draft, toolset, 'round', due);
    return askingOrListing(toolset);
  }
  if (verdict?.kind === 'failed') {
    changeToolset(draft, id, { verdict: null });
    return { kind: 'failed', error: verdict.error };
  }
  return undefined;
}

/** The failure of a toolset that was failing before is no news for a request that asks for all. */
function askingOrListing({ failure, due }: Toolset): Membership {
  return failure !== null && due?.manual === 'all' ? { kind: 'asking' } : { kind: 'listing' };
}
