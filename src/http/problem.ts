import type { ErrorRequestHandler, Response } from 'express';
import type { ErrorCode } from '../core/errors.js';
import { StoreFailure } from '../core/facts.js';
import type { Logger } from '../core/ports.js';
import type { ProblemCode } from './error-codes.js';

/** An answer that is no success: `{detail, code}` with its status (CONTRACT.md 9.1). */
export class Problem extends Error {
  readonly status: number;
  readonly code: ProblemCode | ErrorCode;
  readonly detail: string | object;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: ProblemCode | ErrorCode, detail: string | object, headers: Readonly<Record<string, string>> = {}) {
    super(typeof detail === 'string' ? detail : code);
    this.name = 'Problem';
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.headers = headers;
  }
}

/** What routes answer before the first generation. */
export function notReady(): Problem {
  return new Problem(503, 'not_ready', 'The agent is not ready yet.', { 'retry-after': '1' });
}

/** What routes answer that need the store, while it does not answer (CONTRACT.md 16.1). */
function storeUnavailable(): Problem {
  return new Problem(503, 'store_unavailable', 'The store that keeps threads cannot be reached.', { 'retry-after': '1' });
}

/** The last handler of the router: every error becomes a problem, and only problems are shown to clients. */
export function problemHandler(logger: Logger): ErrorRequestHandler {
  return (error: unknown, _req, res, next) => {
    if (res.headersSent) {
      next(error);
      return;
    }
    const problem = problemOf(error);
    if (problem.status >= 500 && !(error instanceof Problem)) logger.error('request failed', { code: problem.code, error: String(error) });
    sendProblem(res, problem);
  };
}

function sendProblem(res: Response, problem: Problem): void {
  res.status(problem.status).set(problem.headers).json({ detail: problem.detail, code: problem.code });
}

/** What a client is told of an error. Errors of Express's body parser carry a `type`; their messages quote the body, so they are replaced. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof StoreFailure && error.code !== 'store_failed') return storeUnavailable();
  const type = typeof error === 'object' && error !== null && 'type' in error ? error.type : undefined;
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined;
  if (type === 'entity.too.large') return new Problem(413, 'body_too_large', 'The body is larger than 10 MiB.');
  if (type === 'entity.parse.failed') return new Problem(400, 'malformed_json', 'The body is not valid JSON.');
  if (type === 'charset.unsupported' || type === 'encoding.unsupported') {
    return new Problem(415, 'unsupported_encoding', 'The charset or encoding of the body is not supported.');
  }
  if (typeof status === 'number' && status >= 400 && status < 500) return new Problem(status, 'bad_request', 'The request cannot be read.');
  return new Problem(500, 'internal_error', 'The request failed because of an internal error.');
}
