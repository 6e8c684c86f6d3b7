import type { Request, RequestHandler, Response } from 'express';
import { CodedError } from '../core/errors.js';
import type { ServedView, ViewSource } from '../core/ports.js';
import { urisOfPath } from '../core/view.js';
import type { AgentSource } from './agent-source.js';
import { notReady, Problem } from './problem.js';

/**
 * `GET /views/{toolset}/{view}`: one view from the cache, and from its toolset the first time (CONTRACT.md 8). It is sent with a policy that
 * puts it into an origin of its own, so that its scripts never run in the API's (14.3).
 */
export function viewsRoute(source: AgentSource, views: ViewSource | undefined): RequestHandler {
  return async (req, res) => {
    if (source.current === undefined) throw notReady();
    const { hash } = req.query;
    const asked = { toolset: String(req.params.toolset), path: [req.params.view ?? []].flat().join('/') };
    const view = views && (hash === undefined ? await readView(views, asked) : findVersion(views, { ...asked, hash: String(hash) }));
    if (view === undefined) throw unknownView();
    send(req, res, view);
  };
}

interface AskedView {
  readonly toolset: string;
  readonly path: string;
}

/** A content that a run named may be asked for after the toolset is gone. */
function findVersion(views: ViewSource, { toolset, path, hash }: AskedView & { readonly hash: string }): ServedView | undefined {
  for (const uri of urisOfPath(toolset, path)) {
    const version = views.version({ toolset, uri, hash });
    if (version !== undefined) return version;
  }
  return undefined;
}

async function readView(views: ViewSource, { toolset, path }: AskedView): Promise<ServedView | undefined> {
  const uri = views.find(toolset, path);
  if (uri === undefined) return undefined;
  try {
    return await views.get(toolset, uri);
  } catch (error) {
    const code = error instanceof CodedError ? error.code : 'VIEW_UNREADABLE';
    // The text of the error is for those who may see it at GET /refresh; its code says what to look for.
    throw new Problem(502, code, 'The toolset did not answer with this view.', { 'retry-after': '1' });
  }
}

function send(req: Request, res: Response, view: ServedView): void {
  const etag = `"${view.hash}"`;
  res.setHeader('etag', etag);
  res.setHeader('cache-control', 'no-cache');
  res.setHeader('vary', [res.getHeader('vary') ?? [], 'Accept-Encoding'].flat().join(', '));
  res.setHeader('content-security-policy', view.policy);
  res.setHeader('x-content-type-options', 'nosniff');
  if (matches(req.get('if-none-match'), etag)) {
    res.status(304).end();
    return;
  }
  const gzipped = view.gzip !== undefined && req.acceptsEncodings('gzip', 'identity') === 'gzip' ? view.gzip : undefined;
  const body = gzipped ?? view.html;
  res.setHeader('content-type', 'text/html; charset=utf-8');
  if (gzipped !== undefined) res.setHeader('content-encoding', 'gzip');
  res.setHeader('content-length', body.byteLength);
  res.end(req.method === 'HEAD' ? undefined : body);
}

/** `If-None-Match` compares weakly (RFC 9110, 13.1.2). */
function matches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.trim() === '*' || header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

function unknownView(): Problem {
  return new Problem(404, 'unknown_view', 'No tool of such a toolset has this view, or its content of this hash is no longer kept.');
}
