import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/client';
import { isObject } from './rpc-message.js';

/** The versions that may be offered with `initialize`, newest first. Those before 2025-03-26 are not promised, but servers that name one mostly work. */
export const INITIALIZE_VERSIONS: readonly string[] = SUPPORTED_PROTOCOL_VERSIONS;

const VERSION = /\b20\d\d-[01]\d-[0-3]\d\b/g;
const ABOUT_VERSIONS = /protocol[ _-]?version|supported versions|unsupported version/i;
const UNSUPPORTED_VERSION = -32022;

/** Text that is longer than this is a page, and no word about versions. */
const LONGEST_TEXT = 2_000;

/** The cause of an error by which a server refused a protocol version. */
export class VersionRefusal extends Error {
  /** The versions that it named. The one that was refused may be among them; empty where it named none. */
  readonly named: readonly string[];

  constructor(named: readonly string[]) {
    super('The server refused the protocol version.');
    this.name = 'VersionRefusal';
    this.named = named;
  }
}

/** Reads a refusal as one of the protocol version; undefined when it is about something else. Servers put the versions into `data.supported` or into the text. */
export function versionRefusalOf(refused: {
  readonly code?: number | undefined;
  readonly message: string;
  readonly data?: unknown;
}): VersionRefusal | undefined {
  const { code, message, data } = refused;
  const listed = isObject(data) && Array.isArray(data.supported) ? data.supported.filter((version) => typeof version === 'string') : [];
  if (message.length > LONGEST_TEXT) return undefined;
  if (code !== UNSUPPORTED_VERSION && listed.length === 0 && !ABOUT_VERSIONS.test(message)) return undefined;
  return new VersionRefusal([...listed, ...(message.match(VERSION) ?? [])]);
}

/** The refusal among the causes of an error, if there is one. */
export function versionRefusalIn(error: unknown): VersionRefusal | undefined {
  let each = error;
  for (let depth = 0; depth < 8 && each instanceof Error; depth += 1) {
    if (each instanceof VersionRefusal) return each;
    each = each.cause;
  }
  return undefined;
}

/**
 * The versions to offer after the first of `offered` was refused, newest first: those that the server named, or all older ones
 * where it named no other. Undefined when there is none left.
 */
export function versionsAfter({ named }: VersionRefusal, offered: readonly string[]): readonly string[] | undefined {
  const older = offered.slice(1);
  const others = named.filter((version) => version !== offered[0]);
  const fitting = others.length === 0 ? older : older.filter((version) => others.includes(version));
  return fitting.length === 0 ? undefined : fitting;
}
