import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { AgentSource } from './agent-source.js';
import type { Callers } from './caller.js';
import { parseBody } from './json-body.js';
import { Problem } from './problem.js';
import { shownRound } from './refresh.js';

export const heldFingerprintSchema = z.string().min(1).max(100);

/** `GET /refresh/held/{fingerprint}`: the changes of this fingerprint that wait, with their differences. */
export function heldRoute(source: AgentSource): RequestHandler {
  return (req, res) => {
    const held = source.refresher?.held?.(parseBody(heldFingerprintSchema, req.params.fingerprint)) ?? [];
    if (held.length === 0) throw unknownChange();
    res.json({ held });
  };
}

/** `POST /refresh/held/{fingerprint}/approve` and `/reject`: answers the round that follows from the decision (CONTRACT.md 15.1). */
export function decideRoute(source: AgentSource, callers: Callers, decision: 'approved' | 'rejected'): RequestHandler {
  return async (req, res) => {
    const fingerprint = parseBody(heldFingerprintSchema, req.params.fingerprint);
    const answer = await source.refresher?.decide?.(fingerprint, decision);
    if (answer === undefined || answer.kind === 'unknown') throw unknownChange();
    if (answer.kind === 'superseded') {
      throw new Problem(409, 'change_superseded', 'This change waits no more: it was decided, taken back, or replaced by a newer one.');
    }
    res.json(shownRound(answer.round, callers.callerOf(req)));
  };
}

function unknownChange(): Problem {
  return new Problem(404, 'unknown_change', 'No change of this fingerprint waits for a decision.');
}
