import { retryDelayMs } from './backoff.js';
import { CodedError, patienceOf } from './errors.js';
import { change, changeToolset, type Draft, liveSnapshot, newToolset, PLAIN_ASK } from './round-draft.js';
import {
  CALLED_RETRY_MS,
  listAgainForRequest,
  makeDue,
  openAtOnce,
  openForArrival,
  openWindow,
  schedulePoll,
  setMembership,
} from './round-due.js';
import type { Membership, RoundEvent } from './round-state.js';

/** The index names these toolsets now: others leave, new ones are due (CONTRACT.md 3.12). */
export function receiveIndex(draft: Draft, named: readonly { readonly id: string; readonly name: string }[]): void {
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
export function recordIndexFailure(draft: Draft, error: CodedError): void {
  const round = draft.state.lastRound + 1;
  change(draft, { lastRound: round });
  const nothing = { listed: [], swapped: [], unheard: [], held: [], late: [], failing: [], requests: [] };
  const { live } = draft.state;
  const openedAt = draft.moment.now;
  draft.effects.push({
    type: 'concluded',
    record: { round, outcome: 'aborted', trigger: 'index', openedAt, ...nothing, before: live, after: live, error },
  });
}

/** Somebody asks by hand (CONTRACT.md 3.14). */
export function receiveRequest(draft: Draft, request: number, id: string | undefined): void {
  change(draft, { requests: [...draft.state.requests, request] });
  const manual = id === undefined ? 'all' : 'name';
  for (const toolset of id === undefined ? [...draft.toolsets.keys()] : [id]) {
    makeDue(draft, toolset, { ...PLAIN_ASK, trigger: 'manual', manual });
  }
  // The request is answered even where there is nothing to list.
  openWindow(draft, 'manual');
}

/** A toolset's subscription opened or closed. */
export function receiveWatching(draft: Draft, id: string, watching: boolean): void {
  const before = draft.toolsets.get(id);
  if (before === undefined || before.watching === watching) return;
  changeToolset(draft, id, { watching });
  const toolset = draft.toolsets.get(id);
  // The poll's interval depends on whether the toolset can push.
  if (toolset !== undefined && toolset.pollAt !== null) schedulePoll(draft, toolset, watching ? 'first' : 'next');
}

/** A list got its place and began. */
export function receiveStart(draft: Draft, { id, list }: Extract<RoundEvent, { type: 'started' }>): void {
  const work = draft.toolsets.get(id)?.work;
  if (work?.doing === 'listing' && work.list === list && work.startedAt === null) {
    changeToolset(draft, id, { work: { ...work, startedAt: draft.moment.now } });
  }
}

/** A list is complete: it waits for its round to judge it, or opens one. */
export function receiveList(draft: Draft, event: Extract<RoundEvent, { type: 'listed' }>): void {
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
  if (listAgainForRequest(draft, event.id)) return;
  switch (work.role) {
    case 'round':
      setMembership(draft, event.id, { kind: 'done' });
      return;
    case 'late':
      openForArrival(draft, work.ask.trigger);
      return;
    case 'retry':
      openWindow(draft, work.ask.trigger);
      return;
  }
}

/** A list failed: its toolset leaves the rounds and is asked again on its own back-off (CONTRACT.md 3.6). */
export function receiveFailure(draft: Draft, event: Extract<RoundEvent, { type: 'failed' }>): void {
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
  // A signal that came while the list was in flight is a sign of life: as between two tries, it brings the next one forward.
  const calledInMs = toolset.due === null ? Number.POSITIVE_INFINITY : CALLED_RETRY_MS;
  // What left its round as late gets a round of its own, unless it was failing before: then its failure is nothing new.
  const ownRound = work.role === 'late' && draft.state.live !== null && toolset.failure === null;
  changeToolset(draft, event.id, {
    work: { doing: 'retrying', at: now + Math.min(delayMs, calledInMs) },
    failure: { error, failures, since, triedAt: now },
    verdict: ownRound ? { kind: 'failed', error, ask: work.ask } : null,
    // Signals that came meanwhile are served by the retries; only a request still wants its list.
    due: toolset.due === null || toolset.due.manual === 'no' ? null : toolset.due,
    // A failure in between starts the confirmation of an empty list again (CONTRACT.md 3.8).
    waiting: toolset.waiting?.reason === 'empty' ? null : toolset.waiting,
  });
  draft.effects.push({ type: 'failing', id: event.id, error, failures, first: toolset.failure === null });
  if (listAgainForRequest(draft, event.id)) return;
  if (ownRound) openAtOnce(draft, work.ask.trigger);
  if (work.role === 'round') {
    const asking = memberOf(draft, event.id)?.kind === 'asking';
    setMembership(draft, event.id, asking ? { kind: 'still-failing', error } : { kind: 'failed', error });
  }
}

function memberOf(draft: Draft, id: string): Membership | undefined {
  const { phase } = draft.state;
  return phase.kind === 'listing' ? phase.round.members.get(id) : undefined;
}
