import { NO_ECHO } from './echo.js';
import type { Ask, Moment, RoundEffect, Rounds, Toolset, Verdict } from './round-state.js';
import { fullBucket } from './swap-tokens.js';

/** The state while one step works on it. Toolset records stay immutable; only the map and the top level are replaced. */
export interface Draft {
  readonly moment: Moment;
  state: Rounds;
  readonly toolsets: Map<string, Toolset>;
  readonly effects: RoundEffect[];
}

export function openDraft(state: Rounds, moment: Moment): Draft {
  return { moment, state, toolsets: new Map(state.toolsets), effects: [] };
}

export function change(draft: Draft, part: Partial<Rounds>): void {
  draft.state = { ...draft.state, ...part };
}

export function changeToolset(draft: Draft, id: string, part: Partial<Toolset>): void {
  const toolset = draft.toolsets.get(id);
  if (toolset !== undefined) draft.toolsets.set(id, { ...toolset, ...part });
}

export const PLAIN_ASK: Omit<Ask, 'trigger'> = {
  notified: false,
  verify: false,
  confirming: false,
  polled: false,
  manual: 'no',
};

/** Two reasons for one list. The first one's trigger is kept. */
export function mergeAsks(first: Ask | null, second: Ask): Ask {
  if (first === null) return second;
  return {
    trigger: first.trigger,
    notified: first.notified || second.notified,
    verify: first.verify || second.verify,
    confirming: first.confirming || second.confirming,
    polled: first.polled || second.polled,
    manual: first.manual === 'name' || second.manual === 'name' ? 'name' : first.manual === 'all' ? 'all' : second.manual,
  };
}

export function newToolset({ id, name }: { id: string; name: string }, moment: Moment): Toolset {
  return {
    id,
    name,
    standing: 'wanted',
    work: { doing: 'resting' },
    due: null,
    verdict: null,
    failure: null,
    waiting: null,
    echo: NO_ECHO,
    tokens: fullBucket(moment.now),
    watching: false,
    pollAt: null,
    suspectUntil: null,
    missedSignals: 0,
    listedAt: null,
    listStartedAt: null,
    notifiedAt: null,
  };
}

/** A toolset of this name in the live catalog. */
export function liveSnapshot(state: Rounds, name: string) {
  return state.live?.snapshots.find((snapshot) => snapshot.toolset === name);
}

/** Whether other replicas may not know of a change. What a notification announced, each of them hears itself. */
export function isUnheard({ ask, announced, from }: Extract<Verdict, { kind: 'complete' }>): boolean {
  const found = ask.polled || ask.trigger === 'poll' || ask.trigger === 'reconnect' || ask.trigger === 'manual' || ask.trigger === 'review';
  return found && ask.trigger !== 'replica' && !ask.notified && (from === 'waiting' || !announced);
}
