import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { Preview } from '../core/change-report.js';
import { closestFirst } from '../core/closest-names.js';
import type { LiveAgents } from '../core/ports.js';
import type { RefreshStatus, RoundRecord, ShownError } from '../core/status.js';
import type { AgentSource } from './agent-source.js';
import type { Caller, Callers } from './caller.js';
import { parseBody } from './json-body.js';
import { Problem } from './problem.js';

/** The body of `POST /refresh`. */
export const refreshBodySchema = z.looseObject({ toolset: z.string().min(1).max(256).optional() });

/** `?dry=true` says what would change and changes nothing. */
export const drySchema = z.enum(['true', 'false']).optional();

/** `GET /refresh`: the status of CONTRACT.md 9.2. Toolset URLs and error texts are for administrators and that toolset's own token. */
export function refreshStatusRoute(source: AgentSource, callers: Callers): RequestHandler {
  return (req, res) => {
    res.json(shownStatus(refresherOf(source).status(), callers.callerOf(req)));
  };
}

/** `POST /refresh`: waits for a round that opens after the request and answers its record, whatever the outcome (CONTRACT.md 3.14); dry, says what it would do. */
export function refreshNowRoute(source: AgentSource, callers: Callers): RequestHandler {
  return async (req, res) => {
    const { toolset } = parseBody(refreshBodySchema, req.body ?? {});
    callers.assertMayRefresh(req, toolset);
    const caller = callers.callerOf(req);
    const refresher = refresherOf(source);
    if (parseBody(drySchema, req.query.dry) === 'true') {
      if (refresher.preview === undefined) throw new Problem(404, 'not_available', 'This host cannot say what a refresh would do.');
      res.json(shownPreview(await refresher.preview({ toolset }).catch(refuseUnknown(toolset, refresher)), caller));
      return;
    }
    const gone = new AbortController();
    res.once('close', () => gone.abort());
    const record = await refresher.refresh({ toolset, signal: gone.signal }).catch(refuseUnknown(toolset, refresher));
    res.json(shownRound(record, caller));
  };
}

/** So many of the toolsets are named where one was asked for that there is not. */
const NAMED = 20;

/** The names are no secret from those who may ask here: `GET /refresh` shows them. */
function refuseUnknown(toolset: string | undefined, refresher: LiveAgents<unknown>) {
  return (error: unknown): never => {
    if (!(error instanceof RangeError)) throw error;
    const names = refresher.status().toolsets.map(({ name }) => name);
    const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
    const closest = closestFirst(names, toolset ?? '').slice(0, NAMED);
    const known = names.length === 0 ? 'none' : `${closest.join(', ')}${more}`;
    throw new Problem(404, 'unknown_toolset', `The index names no toolset ${JSON.stringify(toolset)}. It names: ${known}.`);
  };
}

function shownPreview(preview: Preview, caller: Caller): Preview {
  return { ...preview, toolsets: preview.toolsets.map((toolset) => ({ ...toolset, error: shownError(toolset.error, caller) })) };
}

function refresherOf(source: AgentSource) {
  if (!source.refresher) throw new Problem(404, 'not_available', 'This host keeps its agent current itself.');
  return source.refresher;
}

function shownStatus(status: RefreshStatus, caller: Caller): object {
  return {
    ...status,
    last: status.last && shownRound(status.last, caller),
    index: { ...status.index, error: shownError(status.index.error, caller) },
    toolsets: status.toolsets.map((toolset) => {
      const error = shownError(toolset.error && { ...toolset.error, toolset: toolset.name, url: toolset.url }, caller);
      const { url, ...rest } = toolset;
      return maySee(caller, toolset.name) ? { ...rest, url, error } : { ...rest, error };
    }),
  };
}

/** A round as this caller may see it: error texts are for administrators and that toolset's own token (CONTRACT.md 9.1). */
export function shownRound(record: RoundRecord, caller: Caller): RoundRecord {
  return { ...record, error: shownError(record.error, caller) };
}

function shownError(error: ShownError | null, caller: Caller): ShownError | null {
  if (error === null || maySee(caller, error.toolset)) return error;
  return error.toolset === undefined ? { code: error.code } : { code: error.code, toolset: error.toolset };
}

function maySee(caller: Caller, toolset: string | undefined): boolean {
  return caller.kind === 'admin' || (caller.kind === 'toolset' && caller.toolset === toolset);
}

/** Refuses who may not refresh at all before a body is read. With a toolset's token the body decides: it is good for that toolset. */
export function refuseStrangers(callers: Callers): RequestHandler {
  return (req, _res, next) => {
    if (callers.callerOf(req).kind !== 'toolset') callers.assertMayRefresh(req, undefined);
    next();
  };
}

/** Lets nobody but administrators pass. */
export function refuseOthers(callers: Callers): RequestHandler {
  return (req, _res, next) => {
    callers.assertAdmin(req);
    next();
  };
}
