import type { RequestHandler } from 'express';
import { z } from 'zod';
import { reportGeneration } from '../core/change-report.js';
import type { AgentSource } from './agent-source.js';
import { parseBody } from './json-body.js';
import { Problem } from './problem.js';

/** So many generations, and so many decisions, are listed. */
const LISTED = 50;

export const generationNumberSchema = z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER);

/** `GET /generations`: the last 50 generations of all replicas, newest first, and what was decided about held changes. */
export function generationsRoute(source: AgentSource): RequestHandler {
  return async (_req, res) => {
    const history = historyOf(source);
    const [generations, decisions] = await Promise.all([history.generations(LISTED), history.decisions(LISTED)]);
    res.json({
      generations: generations.map(({ tools: _tools, omitted: _omitted, toolsets: _toolsets, ...line }) => line),
      decisions: decisions.map(({ toolset, fingerprint, verdict, at }) => ({ toolset, fingerprint, decision: verdict, at })),
    });
  };
}

/** `GET /generations/{n}`: one of them with the whole definitions of the tools that it changed, before and after. */
export function generationRoute(source: AgentSource): RequestHandler {
  return async (req, res) => {
    const number = parseBody(generationNumberSchema, req.params.number);
    const record = await historyOf(source).generation(number);
    if (record === undefined) throw new Problem(404, 'unknown_generation', `There is no generation ${number}, or it is no longer kept.`);
    res.json(reportGeneration(record));
  };
}

function historyOf({ refresher }: AgentSource) {
  const history = refresher?.history;
  if (history === undefined) throw new Problem(404, 'not_available', 'This host keeps no history of its generations.');
  return history;
}
