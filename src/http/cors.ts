import type { RequestHandler } from 'express';
import type { AgentSource } from './agent-source.js';

/** Headers that a page may always send. */
const ALLOWED_HEADERS = ['authorization', 'content-type', 'accept', 'last-event-id'];

/** Answers pages of other origins (CONTRACT.md 10, MCP_AGENT_API_CORS_ORIGINS). Without origins it sends no CORS header. `*` allows every origin. */
export function cors(origins: readonly string[], source: AgentSource): RequestHandler {
  const allowed = new Set(origins);
  return (req, res, next) => {
    if (allowed.size === 0) return next();
    res.vary('origin');
    const { origin } = req.headers;
    if (origin === undefined || !(allowed.has(origin) || allowed.has('*'))) return next();
    res.setHeader('access-control-allow-origin', origin);
    res.setHeader('access-control-expose-headers', 'x-agent-generation');
    if (req.method !== 'OPTIONS' || req.headers['access-control-request-method'] === undefined) return next();
    const declared = source.current?.agent.credentials.flatMap(({ headers }) => headers) ?? [];
    res.setHeader('access-control-allow-methods', 'GET, POST');
    res.setHeader('access-control-allow-headers', [...new Set([...ALLOWED_HEADERS, ...declared])].join(', '));
    res.setHeader('access-control-max-age', '600');
    res.status(204).end();
  };
}
