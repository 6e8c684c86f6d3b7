import express, { type RequestHandler } from 'express';
import type { ZodType } from 'zod';
import { Problem } from './problem.js';

/** The largest body that is read (CONTRACT.md 14.4). Clients send their whole history with every run. */
const BODY_LIMIT = 10 * 1024 * 1024;

/** Reads a JSON body. A body of another type is answered with 415; `optional` lets a request without any body pass. */
export function jsonBody(presence: 'required' | 'optional'): RequestHandler[] {
  const checkType: RequestHandler = (req, _res, next) => {
    const isEmpty =
      req.headers['content-length'] === '0' ||
      (req.headers['content-length'] === undefined && req.headers['transfer-encoding'] === undefined);
    if (presence === 'optional' && isEmpty) return next();
    if (!req.is('application/json')) return next(new Problem(415, 'unsupported_media_type', 'The body has to be application/json.'));
    return next();
  };
  return [checkType, express.json({ limit: BODY_LIMIT, strict: false })];
}

/** The body as the schema describes it, else a problem with status 422 that names the places. */
export function parseBody<T>(schema: ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => ({ path: issue.path.join('.'), message: issue.message }));
  throw new Problem(422, 'invalid_request', { reason: 'invalid_request', issues });
}
