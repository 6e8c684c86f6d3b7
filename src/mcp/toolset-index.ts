import type { Dispatcher } from 'undici';
import { type Response as HttpResponse, fetch as undiciFetch } from 'undici';
import { CodedError } from '../core/errors.js';
import { credentialHeadersOf, type IndexDocument, readIndexDocument } from '../core/index-document.js';
import { AnswerTooLarge, readText } from './answer.js';
import { type Environment, openDispatcher } from './dispatcher.js';
import { connectFault, reasonIn, retryAfterOf } from './failure.js';
import { indexFileOf, readIndexFile } from './index-file.js';
import { mediaTypeOf } from './wire.js';

export { watchIndexFile } from './index-file.js';

const MAX_INDEX_BYTES = 10 * 1024 * 1024;

/** How long a socket may take to be connected. */
const CONNECT_MS = 5_000;

/** Statuses that say "not now" rather than "this is no index". */
const NOT_NOW = new Set([408, 425, 429]);

export type IndexRead = { readonly kind: 'index'; readonly document: IndexDocument } | { readonly kind: 'not-an-index' };

export interface ReadOptions {
  readonly signal: AbortSignal;
  /** For `${MCP_HEADER_…}` and proxies. */
  readonly env: Environment;
}

/**
 * Reads once what is at `MCP_URL` (CONTRACT.md 3.12, 3.13). `not-an-index` is any proper answer that is no index document, as an
 * MCP endpoint gives. Throws INDEX_UNREACHABLE when there is no answer or a 5xx, INDEX_UNKNOWN_HOST, INDEX_CERTIFICATE, and INDEX_MALFORMED for a file or an address that can be no index.
 */
export async function readIndex(url: string, options: ReadOptions): Promise<IndexRead> {
  const path = indexFileOf(url);
  if (path !== undefined) {
    const body = await readIndexFile(path, { maxBytes: MAX_INDEX_BYTES, signal: options.signal });
    const document = readIndexDocument(body, options.env);
    if (document === undefined) throw new CodedError('INDEX_MALFORMED', 'The index file holds JSON that is no index.');
    return { kind: 'index', document };
  }
  assertHttp(url);
  const body = await getJson(url, options);
  const document = body === undefined ? undefined : readIndexDocument(body, options.env);
  return document === undefined ? { kind: 'not-an-index' } : { kind: 'index', document };
}

/**
 * The credential headers that a single MCP endpoint's sibling `/health` declares (CONTRACT.md 3.13); none when there is no such
 * document. Never throws.
 */
export async function readSiblingHealth(url: string, options: ReadOptions): Promise<readonly string[]> {
  try {
    const health = new URL('health', url.replace(/[?#].*$/, '').replace(/\/+$/, ''));
    return credentialHeadersOf(await getJson(health.href, options));
  } catch {
    // An endpoint need not have a health document; without one it asks for no credentials.
    return [];
  }
}

function assertHttp(url: string): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:'))
    throw new CodedError('INDEX_MALFORMED', 'MCP_URL is neither an http(s) URL nor a file.');
  if (parsed.username !== '' || parsed.password !== '')
    throw new CodedError('INDEX_MALFORMED', 'MCP_URL holds a user name or a password, which is not allowed.');
}

/** The JSON at a URL; undefined for an answer that is none. Throws INDEX_UNREACHABLE, INDEX_UNKNOWN_HOST or INDEX_CERTIFICATE. */
async function getJson(url: string, options: ReadOptions): Promise<unknown> {
  const dispatcher: Dispatcher = openDispatcher({ env: options.env, connectMs: CONNECT_MS });
  try {
    const response = await undiciFetch(url, { headers: { accept: 'application/json' }, dispatcher, signal: options.signal });
    const { status } = response;
    if (NOT_NOW.has(status) || (status >= 500 && status !== 501)) throw unreachable(response);
    // Its body may never end: an MCP endpoint opens its notification stream here.
    if (!response.ok || mediaTypeOf(response) === 'text/event-stream') return undefined;
    return parsed(await readText(response.body, MAX_INDEX_BYTES));
  } catch (error) {
    if (error instanceof CodedError) throw error;
    if (options.signal.aborted) throw new CodedError('INDEX_UNREACHABLE', 'The index did not answer in time.', { cause: error });
    throw unread(error);
  } finally {
    await dispatcher.destroy();
  }
}

function unread(cause: unknown): CodedError {
  if (cause instanceof AnswerTooLarge)
    return new CodedError('INDEX_UNREACHABLE', `The index could not be read: ${cause.message}`, { cause });
  switch (connectFault(cause)) {
    case 'unknown host':
      return new CodedError('INDEX_UNKNOWN_HOST', `The host name in MCP_URL does not resolve${reasonIn(cause)}.`, { cause });
    case 'certificate':
      return new CodedError('INDEX_CERTIFICATE', `The index's certificate is not accepted${reasonIn(cause)}.`, { cause });
    default:
      return new CodedError('INDEX_UNREACHABLE', `The index could not be read${reasonIn(cause)}.`, { cause });
  }
}

function unreachable(response: HttpResponse): CodedError {
  const { status } = response;
  const retryAfterMs = retryAfterOf(response.headers.get('retry-after'), new Date());
  return new CodedError('INDEX_UNREACHABLE', `The index answered HTTP ${status}.`, { status, retryAfterMs });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // No JSON is no index; what it is instead is found out by speaking MCP to it.
    return undefined;
  }
}
