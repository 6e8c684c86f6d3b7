import { createHash } from 'node:crypto';
import { CodedError, type ErrorCode } from '../core/errors.js';
import type { ToolDefinition } from '../core/tool.js';
import { canonicalText } from '../core/tool-digest.js';
import type { Connection } from './connection.js';
import { failureOfRpcError } from './failure.js';
import { isObject } from './rpc-message.js';

/** The bounds of one tool list (CONTRACT.md 14.1). */
const MAX_PAGES = 200;
const MAX_TOOLS = 5_000;
/** Characters of JSON over all pages; each page by itself is bounded when it is read. */
const MAX_LIST_LENGTH = 64 * 1024 * 1024;

/** What tells the first page from the others. */
interface Page {
  readonly digest: string;
  readonly nextCursor: string;
}

/**
 * Walks over a toolset's whole tool list and answers every entry, raw, in the order in which they came (CONTRACT.md 2.1).
 * Anything but a walk to the last page throws a CodedError. An empty cursor is a cursor like any other; but where it brings the first page again,
 * the server makes no difference between an empty cursor and none, so the page that gave it was the last one. The signal bounds the walk as a whole and frees its socket.
 */
export async function listTools(connection: Connection, signal: AbortSignal): Promise<readonly ToolDefinition[]> {
  const toolset = connection.endpoint.name;
  const fail = (code: ErrorCode, what: string) => new CodedError(code, `The tool list of "${toolset}" ${what}.`, { toolset });
  const tools: ToolDefinition[] = [];
  const cursors = new Set<string>();
  const pages = new Set<string>();
  let first: Page | undefined;
  let length = 0;
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const reply = await connection.ask('tools/list', cursor === undefined ? {} : { cursor }, signal, MAX_TOOLS);
    // A server that had tools and no longer knows the method is another one by now; a new handshake tells which.
    if (reply.kind === 'error' && reply.code === -32601) throw fail('SESSION_LOST', 'is unknown to the server (JSON-RPC error -32601)');
    if (reply.kind === 'error') throw failureOfRpcError({ toolset, ...reply });
    const { tools: entries, nextCursor } = reply.result;
    if (!Array.isArray(entries)) throw fail('LIST_MALFORMED', `has a page whose tools are ${kindOf(entries)}, not an array`);
    if (cursor === '' && first !== undefined && first.nextCursor === nextCursor && first.digest === digestOf(entries).digest) return tools;
    if (tools.length + entries.length > MAX_TOOLS) throw fail('LIST_TOO_LARGE', `has more than ${MAX_TOOLS} tools`);
    for (const entry of entries) {
      if (!isTool(entry)) throw fail('LIST_MALFORMED', `has an entry (${kindOf(entry)}) that is no tool with a name, at ${tools.length}`);
      tools.push(entry);
    }
    // Many servers write null where there are no more pages.
    if (nextCursor === undefined || nextCursor === null) {
      if (pages.size === 0) return tools;
      if (entries.length > 0 && pages.has(digestOf(entries).digest)) throw fail('LIST_INCOMPLETE', 'has the same page twice');
      return tools;
    }
    if (typeof nextCursor !== 'string') throw fail('LIST_MALFORMED', `has a next cursor that is ${kindOf(nextCursor)}`);
    const { digest, size } = digestOf(entries);
    first ??= { digest, nextCursor };
    // A cursor or a page seen twice means that the server pages in a circle: what we have is not the whole list.
    if (cursors.has(nextCursor)) throw fail('LIST_INCOMPLETE', 'has the same cursor twice');
    cursors.add(nextCursor);
    if (entries.length > 0 && pages.has(digest)) throw fail('LIST_INCOMPLETE', 'has the same page twice');
    pages.add(digest);
    length += size;
    if (length > MAX_LIST_LENGTH) throw fail('LIST_TOO_LARGE', `has more than ${MAX_LIST_LENGTH} characters`);
    cursor = nextCursor;
  }
  throw fail('LIST_TOO_LARGE', `has more than ${MAX_PAGES} pages`);
}

function isTool(entry: unknown): entry is ToolDefinition {
  return isObject(entry) && typeof entry.name === 'string' && entry.name !== '';
}

function digestOf(entries: readonly unknown[]): { readonly digest: string; readonly size: number } {
  // JSON.stringify would overflow the stack where a tool is nested very deeply; that tool alone is withheld later (CONTRACT.md 6.2).
  const text = canonicalText(entries);
  return { digest: createHash('sha256').update(text).digest('base64'), size: text.length };
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'missing';
  return Array.isArray(value) ? 'an array' : `of type ${typeof value}`;
}
