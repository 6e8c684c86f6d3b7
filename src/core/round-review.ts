import { NOTHING_REVIEWED } from './review.js';
import { change, changeToolset, type Draft, PLAIN_ASK } from './round-draft.js';
import { openAtOnce } from './round-due.js';
import type { RoundEvent } from './round-state.js';
import type { Snapshot } from './snapshot.js';

/** Somebody decided about a fingerprint of a toolset, here or on another replica (CONTRACT.md 15). */
export function receiveDecision(draft: Draft, event: Extract<RoundEvent, { type: 'decided' }>): void {
  const { toolset: name, fingerprint, decision, trigger, request } = event;
  const known = draft.state.reviewed.get(name) ?? NOTHING_REVIEWED;
  remember(draft, name, { ...known, decisions: new Map(known.decisions).set(fingerprint, decision) });
  for (const { id, name: own, waiting, work, verdict } of [...draft.toolsets.values()]) {
    if (own !== name || waiting?.reason !== 'review' || waiting.snapshot.fingerprint !== fingerprint) continue;
    if (decision === 'rejected') changeToolset(draft, id, { waiting: null });
    // A list in flight, or one that no round has judged yet, is newer than what waited; it is judged by the decision too.
    else if (work.doing !== 'listing' && verdict === null) {
      const ask = { ...PLAIN_ASK, trigger, manual: 'name' } as const;
      const { snapshot } = waiting;
      changeToolset(draft, id, { verdict: { kind: 'complete', snapshot, ask, from: 'waiting', announced: true } });
      openAtOnce(draft, trigger);
    }
  }
  if (request === null) return;
  change(draft, { requests: [...draft.state.requests, request] });
  openAtOnce(draft, trigger);
}

/** These definitions of a toolset under review are known to be approved: the ones kept in the store, or those of a new generation. */
export function rememberApproved(draft: Draft, snapshot: Snapshot): void {
  const { toolset } = snapshot;
  remember(draft, toolset, { ...(draft.state.reviewed.get(toolset) ?? NOTHING_REVIEWED), approved: snapshot });
}

function remember(draft: Draft, name: string, reviewed: typeof NOTHING_REVIEWED): void {
  change(draft, { reviewed: new Map(draft.state.reviewed).set(name, reviewed) });
}

/** Tells of every list that began to wait in this step, or that waits for another reason now. */
export function tellHeld(draft: Draft, before: Draft['state']): void {
  for (const toolset of draft.toolsets.values()) {
    const known = before.toolsets.get(toolset.id);
    const { id, waiting } = toolset;
    if (toolset === known || waiting === null) continue;
    const same = known?.waiting?.reason === waiting.reason && known.waiting.snapshot.fingerprint === waiting.snapshot.fingerprint;
    if (!same) draft.effects.push({ type: 'held', id, reason: waiting.reason, fingerprint: waiting.snapshot.fingerprint });
  }
}
