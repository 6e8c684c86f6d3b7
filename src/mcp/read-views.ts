import { RESOURCE_MIME_TYPE } from '@modelcontextprotocol/ext-apps/app-bridge';
import { CodedError, type ErrorCode } from '../core/errors.js';
import type { ReadView } from '../core/ports.js';
import type { JsonObject } from '../core/tool.js';
import type { Connection } from './connection.js';
import { failureOf, failureOfRpcError } from './failure.js';
import { isObject } from './rpc-message.js';
import { CALL_HEADER } from './sdk-fetch.js';

/** The bounds of one resource list (CONTRACT.md 14.1). */
const MAX_PAGES = 200;
const MAX_RESOURCES = 5_000;

/** The SDK's own time limit is out of the way: the caller's signal bounds a read. */
const NO_LIMIT_MS = 2_000_000_000;

/**
 * Reads one view of a toolset, on the service's credentials and past the SDK's cache (CONTRACT.md 8). The signal bounds the read and frees
 * its socket. Throws a CodedError: VIEW_UNREADABLE where the answer holds no page.
 */
export async function readView(connection: Connection, uri: string, signal: AbortSignal): Promise<ReadView> {
  const toolset = connection.endpoint.name;
  if (connection.client.getServerCapabilities()?.resources === undefined) throw unreadable(toolset, 'it declares no resources');
  // In the 2025 era the SDK gives up a request without closing its socket; this signal does.
  const over = new AbortController();
  const number = connection.calls.enroll({ headers: {}, signal: over.signal });
  try {
    const { contents } = await connection.client.readResource(
      { uri },
      { cacheMode: 'bypass', signal, timeout: NO_LIMIT_MS, maxTotalTimeout: NO_LIMIT_MS, headers: { [CALL_HEADER]: number } },
    );
    return pageIn(contents, { toolset, uri });
  } catch (error) {
    const failure = failureOf(error, toolset);
    throw failure.code === 'LIST_TOO_LARGE' ? unreadable(toolset, 'it is too large', failure) : failure;
  } finally {
    connection.calls.forget(number);
    over.abort();
  }
}

/**
 * Walks over the resource list and answers what its entries declare that their views may load, by URI. A server without such a list answers
 * none. Throws a CodedError where the walk does not reach the end.
 */
export async function listViewPolicies(connection: Connection, signal: AbortSignal): Promise<ReadonlyMap<string, unknown>> {
  const toolset = connection.endpoint.name;
  const found = new Map<string, unknown>();
  let cursor: string | undefined;
  let count = 0;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const reply = await connection.ask('resources/list', cursor === undefined ? {} : { cursor }, signal);
    if (reply.kind === 'error' && reply.code === -32601) return found;
    if (reply.kind === 'error') throw failureOfRpcError({ toolset, ...reply });
    const { resources, nextCursor } = reply.result;
    const entries = Array.isArray(resources) ? resources : [];
    count += entries.length;
    for (const entry of entries) {
      const csp = isObject(entry) ? cspOf(entry) : undefined;
      if (isObject(entry) && typeof entry.uri === 'string' && csp !== undefined) found.set(entry.uri, csp);
    }
    if (typeof nextCursor !== 'string' || nextCursor === '' || nextCursor === cursor) return found;
    if (count > MAX_RESOURCES) break;
    cursor = nextCursor;
  }
  throw unreadable(toolset, 'the resource list does not end');
}

function pageIn(contents: readonly unknown[], about: { readonly toolset: string; readonly uri: string }): ReadView {
  const pages = contents.filter(isObject).filter(isPage);
  // Servers that write the URI in another way than they are asked for it answer one page all the same.
  const page = pages.find(({ uri }) => uri === about.uri) ?? (pages.length === 1 ? pages[0] : undefined);
  if (page === undefined) throw unreadable(about.toolset, 'the answer holds no page');
  const html = typeof page.text === 'string' ? Buffer.from(page.text, 'utf8') : Buffer.from(String(page.blob), 'base64');
  return { html, csp: cspOf(page) };
}

/** Older servers write `text/html`, and some write nothing. */
function isPage({ text, blob, mimeType }: JsonObject): boolean {
  if (typeof text !== 'string' && typeof blob !== 'string') return false;
  return typeof mimeType !== 'string' || mimeType === RESOURCE_MIME_TYPE || /^text\/html\b/i.test(mimeType);
}

function cspOf({ _meta }: JsonObject): unknown {
  return isObject(_meta) && isObject(_meta.ui) && isObject(_meta.ui.csp) ? _meta.ui.csp : undefined;
}

function unreadable(toolset: string, why: string, cause?: unknown): CodedError {
  const code: ErrorCode = 'VIEW_UNREADABLE';
  return new CodedError(code, `The view of toolset "${toolset}" cannot be read: ${why}.`, { toolset, cause });
}
