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
      return next(unauthorized());
    };
  }

  /** Throws a problem unless the caller may refresh: an administrator everything, a toolset's token that toolset (CONTRACT.md 9.1). */
  assertMayRefresh(req: Request, toolset: string | undefined): void {
    const caller = this.callerOf(req);
    if (caller.kind === 'admin') return;
    if (caller.kind === 'toolset') {
      if (caller.toolset === toolset) return;
      throw forbidden(`This token refreshes the toolset ${JSON.stringify(caller.toolset)} only; name it in the body.`);
    }
    if (this.#tokens.admin !== undefined)
      throw caller.kind === 'nobody' ? unauthorized() : forbidden('This needs the token of MCP_AGENT_API_ADMIN_TOKEN.');
    if (this.#isAdmin) throw forbidden('Only administrators may refresh.');
    throw forbidden('Set MCP_AGENT_API_ADMIN_TOKEN to allow this, and send it as a bearer token.');
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

function unauthorized(): Problem {
  return new Problem(401, 'unauthorized', 'Send the token as Authorization: Bearer.', { 'www-authenticate': 'Bearer' });
}

function forbidden(detail: string): Problem {
  return new Problem(403, 'forbidden', detail);
}
