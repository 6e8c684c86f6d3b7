import type { RequestHandler } from 'express';
import { z } from 'zod';
import { readTurns } from '../agent/turn-history.js';
import type { AgentSource } from './agent-source.js';
import { parseBody } from './json-body.js';
import { notReady, Problem } from './problem.js';
import { idSchema } from './run-request.js';

/** How many turns an answer holds: `?limit`, 50 unless given. */
export const turnsLimitSchema = z.coerce.number().int().min(1).max(1000);

/** `GET /threads/{id}/turns`: the last turns of a thread, each with the generation that answered it (CONTRACT.md 9). */
export function turnsRoute(source: AgentSource): RequestHandler {
  return async (req, res) => {
    const threadId = parseBody(idSchema, req.params.id);
    const limit = parseBody(turnsLimitSchema, req.query.limit ?? 50);
    const agent = source.current?.agent;
    if (!agent) throw notReady();
    const { total, history } = await readTurns(agent, { threadId, limit });
    if (total === 0) throw new Problem(404, 'unknown_thread', 'There is no such thread.');
    res.json({ threadId, turns: history.length, total, history });
  };
}
