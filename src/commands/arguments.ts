import { parseArgs } from 'node:util';

/** `mcp-agent-api watch`: follow a running service. */
export interface WatchArguments {
  readonly kind: 'watch';
  /** The base URL of the service. */
  readonly url: string;
  readonly json: boolean;
  readonly tokenFile?: string;
}

/** `mcp-agent-api refresh`: have a running service list its toolsets now. */
export interface RefreshArguments {
  readonly kind: 'refresh';
  /** The base URL of the service. */
  readonly url: string;
  readonly toolset?: string;
  readonly dry: boolean;
  /** The toolset fingerprint that every replica has to serve. */
  readonly expect?: string;
  readonly timeoutSeconds: number;
  readonly json: boolean;
  readonly tokenFile?: string;
}

/** `mcp-agent-api fingerprint`: list one MCP server and print its fingerprint. */
export interface FingerprintArguments {
  readonly kind: 'fingerprint';
  /** One MCP endpoint, or an index that names it. */
  readonly url: string;
  /** Which toolset of an index. */
  readonly name?: string;
  /** Not given: what the index, or the server's own `/health`, declares. */
  readonly credentialHeaders?: readonly string[];
  readonly timeoutSeconds: number;
  readonly json: boolean;
}

/** What the commands that end by themselves, or at an interrupt, are asked to do. */
export type ClientCommand = WatchArguments | RefreshArguments | FingerprintArguments;

export type ParsedClientCommand = ClientCommand | { readonly kind: 'error'; readonly text: string };

/** The names of these commands, for the message about an unknown one. */
export const CLIENT_COMMANDS = ['watch', 'refresh', 'fingerprint'] as const;

const DEFAULT_TIMEOUT_SECONDS = { refresh: 60, fingerprint: 30 } as const;
/** The longest time that a Node timer can count, in seconds. */
const LONGEST_SECONDS = 2_147_483;
const FINGERPRINT = /^sha256-[0-9a-f]{64}$/;

const TEXT = { type: 'string' } as const;
const FLAG = { type: 'boolean' } as const;

/** Reads what follows the name of the command. Never throws: what cannot be understood is of kind `error`, with one line that says why. */
export function parseClientCommand(name: (typeof CLIENT_COMMANDS)[number], argv: readonly string[]): ParsedClientCommand {
  try {
    return PARSERS[name](argv);
  } catch (error) {
    // Only what the user typed can be wrong here; the first sentence says what, the rest is advice for other programs.
    const [reason = ''] = (error instanceof Error ? error.message : String(error)).split(/\.\s|\n/);
    return { kind: 'error', text: `mcp-agent-api ${name}: ${reason.replace(/\.$/, '')}; see mcp-agent-api --help.` };
  }
}

const PARSERS: Readonly<Record<(typeof CLIENT_COMMANDS)[number], (argv: readonly string[]) => ClientCommand>> = {
  watch(argv) {
    const options = { json: FLAG, 'token-file': TEXT } as const;
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true });
    return { kind: 'watch', url: urlOf(positionals), json: values.json ?? false, ...tokenFileOf(values['token-file']) };
  },
  refresh(argv) {
    const options = { toolset: TEXT, dry: FLAG, expect: TEXT, timeout: TEXT, json: FLAG, 'token-file': TEXT } as const;
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true });
    const { toolset, expect } = values;
    if (toolset === '') throw new Error('--toolset needs a name');
    if (expect !== undefined && !FINGERPRINT.test(expect))
      throw new Error('--expect needs a fingerprint: sha256- and 64 hexadecimal digits, as mcp-agent-api fingerprint prints it');
    return {
      kind: 'refresh',
      url: urlOf(positionals),
      dry: values.dry ?? false,
      json: values.json ?? false,
      timeoutSeconds: secondsOf(values.timeout) ?? DEFAULT_TIMEOUT_SECONDS.refresh,
      ...(toolset !== undefined && { toolset }),
      ...(expect !== undefined && { expect }),
      ...tokenFileOf(values['token-file']),
    };
  },
  fingerprint(argv) {
    const options = { name: TEXT, 'credential-headers': TEXT, timeout: TEXT, json: FLAG } as const;
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true });
    const { name, 'credential-headers': headers } = values;
    return {
      kind: 'fingerprint',
      url: urlOf(positionals),
      json: values.json ?? false,
      timeoutSeconds: secondsOf(values.timeout) ?? DEFAULT_TIMEOUT_SECONDS.fingerprint,
      ...(name !== undefined && { name }),
      ...(headers !== undefined && { credentialHeaders: headers.split(',').filter((header) => header.trim() !== '') }),
    };
  },
};

function urlOf(positionals: readonly string[]): string {
  const [url, surplus] = positionals;
  if (url === undefined) throw new Error('a URL is missing');
  if (surplus !== undefined) throw new Error(`one URL is enough, and ${JSON.stringify(surplus)} is one argument too many`);
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) throw new Error(`${JSON.stringify(url)} is no http(s) URL`);
  if (parsed.username !== '' || parsed.password !== '') throw new Error('the URL holds a user name or a password, which is not allowed');
  return parsed.href;
}

function secondsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0;
  if (seconds <= 0 || seconds > LONGEST_SECONDS) throw new Error('--timeout needs a number of seconds above 0, for example 90 or 0.5');
  return seconds;
}

function tokenFileOf(file: string | undefined): { readonly tokenFile?: string } {
  return file === undefined ? {} : { tokenFile: file };
}
