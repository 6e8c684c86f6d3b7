import { StoreFailure } from '../core/facts.js';
import { codeOf } from './error-code.js';

/** SQLSTATE classes and codes that say "not now": connection, resources, operator intervention, sign-in, and a server that only reads. */
const UNAVAILABLE = /^(08|53|57|28|25006)/;

/** What an error of the driver or of the server means. Its text is not repeated: it may hold the connection string. */
export function postgresFailure(error: unknown): StoreFailure {
  if (error instanceof StoreFailure) return error;
  const code = codeOf(error);
  if (code === '53100') return new StoreFailure('store_full', 'The disk of the PostgreSQL store is full.', error);
  const fromServer = isFromServer(error);
  // Whatever the server did not say came from the way to it: sockets, names, time limits, a pool that is closed.
  const unavailable = fromServer ? UNAVAILABLE.test(code) : !(error instanceof TypeError || error instanceof SyntaxError);
  if (unavailable) return new StoreFailure('store_unavailable', `The PostgreSQL store cannot be reached (${code || 'no answer'}).`, error);
  return new StoreFailure('store_failed', `The PostgreSQL store failed (${code || 'unknown error'}).`, error);
}

/** Whether the server answered with this error, rather than that the way to it failed. */
export function isFromServer(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'severity' in error;
}
