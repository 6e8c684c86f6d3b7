import { retryDelayMs } from './backoff.js';
import { CodedError, patienceOf } from './errors.js';
import { change, changeToolset, type Draft, liveSnapshot, newToolset, openDraft, PLAIN_ASK } from './round-draft.js';
import { makeDue, nextOf, openAtOnce, openWindow, passTime, receiveSignal, schedulePoll, setMembership, startList } from './round-due.js';
import { concludeBuild, concludeListing, removedNames, resultsAreIn, START_WAIT_MS } from './round-judge.js';
import type { Membership, Moment, RoundEffect, RoundEvent, RoundSettings, Rounds, Toolset } from './round-state.js';

/** The state before the index was read and before anything was listed. */
export function beginRounds(settings: RoundSettings): Rounds {
  return {
    settings,
    phase: { kind: 'idle' },
    window: null,
    toolsets: new Map(),
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
    case 'started': {
      const work = draft.toolsets.get(event.id)?.work;
      if (work?.doing === 'listing' && work.list === event.list && work.startedAt === null) {
        changeToolset(draft, event.id, { work: { ...work, startedAt: draft.moment.now } });
      }
      return;
    }
    case 'listed':
      receiveList(draft, event);
      return;
    case 'failed':
      receiveFailure(draft, event);
      return;
    case 'built':
      concludeBuild(draft, event);
      return;
  }
}

function receiveIndex(draft: Draft, named: readonly { readonly id: string; readonly name: string }[]): void {
  const wanted = new Set(named.map(({ id }) => id));
  const names = new Set(named.map(({ name }) => name));
  for (const toolset of [...draft.toolsets.values()]) {
    if (wanted.has(toolset.id)) {
      if (toolset.standing !== 'wanted') changeToolset(draft, toolset.id, { standing: 'wanted' });
    } else if (names.has(toolset.name) && liveSnapshot(draft.state, toolset.name)?.id === toolset.id) {
      changeToolset(draft, toolset.id, { standing: 'replaced' });
    } else {
      draft.toolsets.delete(toolset.id);
      setMembership(draft, toolset.id, undefined);
      draft.effects.push({ type: 'dismissed', id: toolset.id });
      openWindow(draft, 'index');
    }
  }
  const trigger = draft.state.live === null ? 'start' : 'index';
  for (const entry of named) {
    if (draft.toolsets.has(entry.id)) continue;
    draft.toolsets.set(entry.id, newToolset(entry, draft.moment));
    makeDue(draft, entry.id, { ...PLAIN_ASK, trigger });
  }
  // The very first round has nothing to wait for: no burst, and nothing that is live already.
  if (!draft.state.indexRead) openAtOnce(draft, 'start');
  change(draft, { indexRead: true });
}

/** An index that cannot be read is one aborted round; the last good index stays (CONTRACT.md 3.12). */
function recordIndexFailure(draft: Draft, error: CodedError): void {
  const round = draft.state.lastRound + 1;
  change(draft, { lastRound: round });
  const nothing = { listed: [], swapped: [], held: [], late: [], failing: [], requests: [] };
  const { live } = draft.state;
  const openedAt = draft.moment.now;
  draft.effects.push({
    type: 'concluded',
    record: { round, outcome: 'aborted', trigger: 'index', openedAt, ...nothing, before: live, after: live, error },
  });
}

function receiveRequest(draft: Draft, request: number, id: string | undefined): void {
  change(draft, { requests: [...draft.state.requests, request] });
  const manual = id === undefined ? 'all' : 'name';
  for (const toolset of id === undefined ? [...draft.toolsets.keys()] : [id]) {
    makeDue(draft, toolset, { ...PLAIN_ASK, trigger: 'manual', manual });
  }
  // The request is answered even where there is nothing to list.
  openWindow(draft, 'manual');
}

function receiveWatching(draft: Draft, id: string, watching: boolean): void {
  const before = draft.toolsets.get(id);
  if (before === undefined || before.watching === watching) return;
  changeToolset(draft, id, { watching });
  const toolset = draft.toolsets.get(id);
  // The poll's interval depends on whether the toolset can push.
  if (toolset !== undefined && toolset.pollAt !== null) schedulePoll(draft, toolset, watching ? 'first' : 'next');
}

function receiveList(draft: Draft, event: Extract<RoundEvent, { type: 'listed' }>): void {
  const toolset = draft.toolsets.get(event.id);
  if (toolset?.work.doing !== 'listing' || toolset.work.list !== event.list) return;
  const before = liveSnapshot(draft.state, toolset.name);
  if (!event.declaresTools && before?.id === toolset.id && before.tools.length > 0) {
    const error = new CodedError('TOOLS_CAPABILITY_LOST', `Toolset ${toolset.name} no longer declares tools.`, { toolset: toolset.name });
    receiveFailure(draft, { type: 'failed', id: event.id, list: event.list, error });
    return;
  }
  const { now } = draft.moment;
  const { work } = toolset;
  const startedAt = work.startedAt ?? work.askedAt;
  const announced = work.ask.notified || (toolset.notifiedAt ?? Number.NEGATIVE_INFINITY) > (toolset.listStartedAt ?? startedAt);
  changeToolset(draft, event.id, {
    work: { doing: 'resting' },
    verdict: { kind: 'complete', snapshot: event.snapshot, ask: work.ask, from: 'list', announced },
    failure: null,
    listedAt: now,
    listStartedAt: startedAt,
  });
  if (toolset.pollAt === null) schedulePoll(draft, toolset, 'first');
  if (toolset.failure !== null) draft.effects.push({ type: 'recovered', id: event.id });
  if (draft.state.live === null && draft.state.firstAnswerAt === null) change(draft, { firstAnswerAt: now });
  switch (work.role) {
    case 'round':
      setMembership(draft, event.id, { kind: 'done' });
      return;
    case 'late':
      openAtOnce(draft, work.ask.trigger);
      return;
    case 'retry':
      openWindow(draft, work.ask.trigger);
      return;
  }
}

function receiveFailure(draft: Draft, event: Extract<RoundEvent, { type: 'failed' }>): void {
  const toolset = draft.toolsets.get(event.id);
  if (toolset?.work.doing !== 'listing' || toolset.work.list !== event.list) return;
  const { now } = draft.moment;
  const { work } = toolset;
  const { error } = event;
  const failures = (toolset.failure?.failures ?? 0) + 1;
  const since = toolset.failure?.since ?? now;
  const patience = patienceOf(error);
  const delayMs = retryDelayMs({
    patience,
    failures,
    failingForMs: now - since,
    retryAfterMs: error.retryAfterMs,
    chance: draft.moment.random(),
  });
  // What left its round as late gets a round of its own, unless it was failing before: then its failure is nothing new.
  const ownRound = work.role === 'late' && draft.state.live !== null && toolset.failure === null;
  changeToolset(draft, event.id, {
    work: { doing: 'retrying', at: now + delayMs },
    failure: { error, failures, since, triedAt: now },
    verdict: ownRound ? { kind: 'failed', error, ask: work.ask } : null,
    // Signals that came meanwhile are served by the retries; only a request that is not answered yet still wants its round.
    due: toolset.due?.manual === 'name' && draft.state.window !== null ? toolset.due : null,
    // A failure in between starts the confirmation of an empty list again (CONTRACT.md 3.8).
    waiting: toolset.waiting?.reason === 'empty' ? null : toolset.waiting,
  });
  draft.effects.push({ type: 'failing', id: event.id, error, failures, first: toolset.failure === null });
  if (ownRound) openAtOnce(draft, work.ask.trigger);
  if (work.role === 'round') {
    const asking = memberOf(draft, event.id)?.kind === 'asking';
    setMembership(draft, event.id, asking ? { kind: 'still-failing' } : { kind: 'failed', error });
  }
}

function memberOf(draft: Draft, id: string): Membership | undefined {
  const { phase } = draft.state;
  return phase.kind === 'listing' ? phase.round.members.get(id) : undefined;
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
  if (wantsList && work.doing === 'listing') {
    // One list at a time: the one in flight may be too old for the request, and the next one comes right after it.
    return due.manual === 'no' ? undefined : { kind: 'late' };
  }
  if (wantsList && (failure === null || due.manual !== 'no')) {
    startList(draft, toolset, 'round', due);
    return failure !== null && due.manual === 'all' ? { kind: 'asking' } : { kind: 'listing' };
  }
  if (verdict?.kind === 'failed') {
    changeToolset(draft, id, { verdict: null });
    return { kind: 'failed', error: verdict.error };
  }
  return verdict?.kind === 'complete' ? { kind: 'done' } : undefined;
}
