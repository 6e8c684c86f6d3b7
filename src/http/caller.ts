import { createHash, timingSafeEqual } from 'node:crypto';
import type { Request, RequestHandler } from 'express';
import { Problem } from './problem.js';

/** Bearer tokens of CONTRACT.md 9.1; what is not given is not asked for. */
export interface Tokens {
  /** MCP_AGENT_API_TOKEN: wanted on every route but health. */
  readonly api?: string;
  /** MCP_AGENT_API_ADMIN_TOKEN. */
  readonly admin?: string;
  /** MCP_AGENT_API_REFRESH_TOKENS: a toolset's own token, by the toolset's name. */
  readonly refresh?: ReadonlyMap<string, string>;
}

const ADMIN = 'MCP_AGENT_API_ADMIN_TOKEN';

/** Who asks. `toolset` is the deploy pipeline of one toolset. */
export type Caller =
  | { readonly kind: 'nobody' }
  | { readonly kind: 'user' }
  | { readonly kind: 'toolset'; readonly toolset: string }
  | { readonly kind: 'admin' };

/** Tells callers apart by their bearer token, or by what the host says about its own users. */
export class Callers {
  readonly #tokens: Tokens;
  readonly #isAdmin: ((req: Request) => boolean) | undefined;

  constructor(tokens: Tokens, isAdmin?: (req: Request) => boolean) {
    this.#tokens = tokens;
    this.#isAdmin = isAdmin;
  }

  callerOf(req: Request): Caller {
    if (this.#isAdmin?.(req)) return { kind: 'admin' };
    const given = bearerOf(req);
    if (given === undefined) return { kind: 'nobody' };
    if (sameSecret(given, this.#tokens.admin)) return { kind: 'admin' };
    for (const [toolset, token] of this.#tokens.refresh ?? []) {
      if (sameSecret(given, token)) return { kind: 'toolset', toolset };
    }
    return sameSecret(given, this.#tokens.api) ? { kind: 'user' } : { kind: 'nobody' };
  }

  /** Whether the request's `Authorization` is one of this service's own tokens, which must not travel on to a toolset. */
  isOwnToken(req: Request): boolean {
    const given = bearerOf(req);
    const own = [this.#tokens.api, this.#tokens.admin, ...(this.#tokens.refresh?.values() ?? [])];
    return given !== undefined && own.some((token) => sameSecret(given, token));
  }

  /** Lets in who may use the API at all. A toolset's token opens only the routes about refreshing. */
  guard(routes: 'all' | 'refresh'): RequestHandler {
    return (req, _res, next) => {
      const caller = this.callerOf(req);
      if (this.#tokens.api === undefined || caller.kind === 'user' || caller.kind === 'admin') return next();
      if (caller.kind === 'toolset')
        return next(routes === 'refresh' ? undefined : forbidden("A toolset's token is good for refreshing only."));
      const toolsets = routes === 'refresh' && this.#hasToolsetTokens ? `, or a toolset's own of MCP_AGENT_API_REFRESH_TOKENS` : '';
      return next(unauthorized(req, `MCP_AGENT_API_TOKEN or ${ADMIN}${toolsets}`));
    };
  }

  /** Throws a problem unless the caller may refresh: an administrator everything, a toolset's token that toolset (CONTRACT.md 9.1). */
  assertMayRefresh(req: Request, toolset: string | undefined): void {
    const caller = this.callerOf(req);
    if (caller.kind === 'admin') return;
    if (caller.kind === 'toolset') {
      if (caller.toolset === toolset) return;
      const own = JSON.stringify(caller.toolset);
      if (toolset === undefined) throw forbidden(`This token is good for the toolset ${own} only, and the request names no toolset.`);
      throw forbidden(`This token is good for the toolset ${own} only, not for ${JSON.stringify(toolset)}.`);
    }
    throw this.#refusal(
      req,
      this.#hasToolsetTokens ? "MCP_AGENT_API_ADMIN_TOKEN, or the toolset's own of MCP_AGENT_API_REFRESH_TOKENS" : ADMIN,
    );
  }

  /** Throws a problem unless the caller is an administrator. */
  assertAdmin(req: Request): void {
    const caller = this.callerOf(req);
    if (caller.kind === 'toolset') throw forbidden("A toolset's token is good for refreshing only.");
    if (caller.kind !== 'admin') throw this.#refusal(req, ADMIN);
  }

  get #hasToolsetTokens(): boolean {
    return this.#tokens.refresh !== undefined && this.#tokens.refresh.size > 0;
  }

  /** Why somebody without a token of this right is refused; `wanted` names the variables that hold one. */
  #refusal(req: Request, wanted: string): Problem {
    if (this.#tokens.admin !== undefined)
      return this.callerOf(req).kind === 'nobody'
        ? unauthorized(req, wanted)
        : forbidden(`This token may not do this. It needs that of ${wanted}.`);
    if (this.#isAdmin) return forbidden('Only administrators may do this.');
    const sent = bearerOf(req) === undefined ? '' : 'The token that was sent may not do this. ';
    if (wanted !== ADMIN)
      return forbidden(
        `${sent}Name a toolset and send its own token of MCP_AGENT_API_REFRESH_TOKENS, or set ${ADMIN} where the service runs.`,
      );
    return forbidden(
      `${sent}Set ${ADMIN} where the service runs and send it as a bearer token; for one toolset's deploy pipeline MCP_AGENT_API_REFRESH_TOKENS will do.`,
    );
  }
}

function bearerOf(req: Request): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(req.get('authorization') ?? '')?.[1];
}

/** Compares in a time that does not depend on where the two differ; hashing makes the lengths equal. */
function sameSecret(given: string, secret: string | undefined): boolean {
  return secret !== undefined && secret !== '' && timingSafeEqual(digest(given), digest(secret));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Says which variables hold a token that would do, and whether one was sent (RFC 6750, section 3). */
function unauthorized(req: Request, wanted: string): Problem {
  const [detail, challenge] =
    req.get('authorization') === undefined
      ? [`A token is needed: send that of ${wanted} as Authorization: Bearer.`, 'Bearer']
      : bearerOf(req) === undefined
        ? [`Authorization holds no bearer token. Send the token of ${wanted} as Authorization: Bearer.`, 'Bearer']
        : [`A token was sent, but the service does not know it. Send that of ${wanted}.`, 'Bearer error="invalid_token"'];
  return new Problem(401, 'unauthorized', detail, { 'www-authenticate': challenge });
}

function forbidden(detail: string): Problem {
  return new Problem(403, 'forbidden', detail);
}
