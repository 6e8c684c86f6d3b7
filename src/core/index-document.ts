import { byCodeUnits, isJsonObject } from './json.js';
import type { ToolsetEndpoint } from './ports.js';
import type { JsonObject } from './tool.js';

/** One toolset as the index names it: usable, or with the reason why not. */
export type IndexEntry =
  | {
      readonly ok: true;
      readonly endpoint: ToolsetEndpoint;
      /** Declared credential headers that nobody may declare (CONTRACT.md 7.6), lower case, sorted. They are not forwarded. */
      readonly ignoredHeaders: readonly string[];
    }
  | {
      readonly ok: false;
      /** The toolset's name, cut to 200 characters. */
      readonly name: string;
      /** Plain words that hold neither a header's value nor a URL's user info. */
      readonly reason: string;
      readonly url?: string;
    };

/** The index, read and judged. */
export interface IndexDocument {
  /** Sorted by name. Empty when the document names no toolset at all, which its reader must not take for "all were removed". */
  readonly entries: readonly IndexEntry[];
}

type Environment = Readonly<Record<string, string | undefined>>;

const MAX_NAME = 200;
const TRANSPORTS = new Set<unknown>(['streamable_http', 'streamable-http', 'http', undefined]);
const VARIABLE = /\$\{(MCP_HEADER_[A-Za-z0-9_]+)\}/g;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers that belong to one connection or to the protocol, or that carry the caller's own session with this service. */
const FORBIDDEN_HEADERS = new Set([
  'connection',
  'cookie',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const FORBIDDEN_PREFIXES = ['content-', 'mcp-'];

/**
 * Reads an index (CONTRACT.md 3.13), or answers undefined when the body is no such document. One entry that cannot be used
 * leaves the others as they are. `${MCP_HEADER_…}` in header values is replaced from `env`; any other variable is left as it is.
 */
export function readIndexDocument(body: unknown, env: Environment): IndexDocument | undefined {
  if (!isJsonObject(body)) return undefined;
  const connections = [ownField(body, 'connections'), ownField(body, 'mcpServers')].find(isJsonObject);
  if (connections === undefined) return undefined;
  const credentials = credentialsByName(ownField(body, 'toolsets'));
  const entries = Object.entries(connections).map(([name, value]) => {
    try {
      return readEntry({ name, value, env, declared: credentials.get(name) ?? [] });
    } catch (error) {
      if (!(error instanceof EntryProblem)) throw error;
      // One bad entry is one toolset's problem: it is reported with its reason, and the index stays good (CONTRACT.md 3.13).
      return Object.freeze({ ok: false as const, name: name.slice(0, MAX_NAME), reason: error.message, url: error.url });
    }
  });
  return Object.freeze({ entries: Object.freeze(entries.sort((a, b) => byCodeUnits(nameOf(a), nameOf(b)))) });
}

/** The credential headers that a single endpoint's `/health` declares, cleaned as those of an index; empty for any other answer. */
export function credentialHeadersOf(healthBody: unknown): string[] {
  return judgeHeaders(isJsonObject(healthBody) ? stringsOf(ownField(healthBody, 'credential_headers')) : []).accepted;
}

function nameOf(entry: IndexEntry): string {
  return entry.ok ? entry.endpoint.name : entry.name;
}

/** Why an entry cannot be used. */
class EntryProblem extends Error {
  readonly url: string | undefined;

  constructor(reason: string, url?: string) {
    super(reason);
    this.url = url;
  }
}

interface EntryInput {
  readonly name: string;
  readonly value: unknown;
  readonly env: Environment;
  readonly declared: readonly string[];
}

function readEntry({ name, value, env, declared }: EntryInput): IndexEntry {
  if (name === '' || name.length > MAX_NAME) throw new EntryProblem(`The name must have 1 to ${MAX_NAME} characters.`);
  if (!isJsonObject(value)) throw new EntryProblem('The entry is not an object.');
  assertTransport(value);
  const url = readUrl(ownField(value, 'url'));
  const headers = readHeaders({ url, headers: ownField(value, 'headers') ?? {}, env });
  const { accepted, ignored } = judgeHeaders(declared);
  const endpoint = Object.freeze({ name, url, headers, credentialHeaders: Object.freeze(accepted) });
  return Object.freeze({ ok: true, endpoint, ignoredHeaders: Object.freeze(ignored) });
}

/** Desktop clients write the transport as `type`, and leave it out where a `command` or a `url` says it. */
function assertTransport(entry: JsonObject): void {
  if (ownField(entry, 'command') !== undefined)
    throw new EntryProblem("The transport 'stdio' is refused: an index must not start programs.");
  const transport = ownField(entry, 'transport') ?? ownField(entry, 'type');
  if (TRANSPORTS.has(transport)) return;
  if (transport === 'stdio') throw new EntryProblem("The transport 'stdio' is refused: an index must not start programs.");
  if (transport === 'sse') throw new EntryProblem("The transport 'sse' is refused: it is deprecated; use streamable_http.");
  throw new EntryProblem("The transport is unknown; only 'streamable_http' (or 'http') can be used.");
}

function readUrl(value: unknown): string {
  if (typeof value !== 'string') throw new EntryProblem('The url is missing or not a string.');
  if (!URL.canParse(value)) throw new EntryProblem('The url is not a valid URL.');
  const url = new URL(value);
  if (url.username !== '' || url.password !== '') throw new EntryProblem('The url holds a user name or a password; use headers instead.');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new EntryProblem('The url is neither http: nor https:.', url.href);
  // A fragment is never sent; with it, one endpoint would have several identities.
  url.hash = '';
  return url.href;
}

interface HeadersInput {
  readonly url: string;
  readonly headers: unknown;
  readonly env: Environment;
}

function readHeaders({ url, headers, env }: HeadersInput): Readonly<Record<string, string>> {
  if (!isJsonObject(headers)) throw new EntryProblem('The headers are not an object.', url);
  const entries = Object.entries(headers).map(([name, value]) => {
    if (!HEADER_NAME.test(name)) throw new EntryProblem('The name of a header is not valid.', url);
    if (typeof value !== 'string') throw new EntryProblem(`The value of the header '${name}' is not a string.`, url);
    const filled = value.replace(VARIABLE, (_, variable: string) => {
      const found = Object.hasOwn(env, variable) ? env[variable] : undefined;
      if (found === undefined)
        throw new EntryProblem(`The header '${name}' needs the environment variable ${variable}, which is not set.`, url);
      return found;
    });
    if (!HEADER_VALUE.test(filled))
      throw new EntryProblem(`The value of the header '${name}' has characters that no header may have.`, url);
    return [name, filled] as const;
  });
  return Object.freeze(Object.fromEntries(entries));
}

function credentialsByName(toolsets: unknown): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const toolset of Array.isArray(toolsets) ? toolsets : []) {
    if (!isJsonObject(toolset)) continue;
    const name = ownField(toolset, 'name');
    if (typeof name !== 'string') continue;
    found.set(name, [...(found.get(name) ?? []), ...stringsOf(ownField(toolset, 'credential_headers'))]);
  }
  return found;
}

function judgeHeaders(declared: readonly string[]): { readonly accepted: string[]; readonly ignored: string[] } {
  const names = [...new Set(declared.map((name) => name.trim().toLowerCase()))].sort(byCodeUnits);
  return { accepted: names.filter(isForwardable), ignored: names.filter((name) => !isForwardable(name)) };
}

function isForwardable(name: string): boolean {
  return HEADER_NAME.test(name) && !FORBIDDEN_HEADERS.has(name) && !FORBIDDEN_PREFIXES.some((prefix) => name.startsWith(prefix));
}

function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** A field that the document itself has: a key that is missing must not be found on the prototype. */
function ownField(object: JsonObject, key: string): unknown {
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  return value === null ? undefined : value;
}
