import { CodedError } from '../core/errors.js';
import { credentialHeadersOf } from '../core/index-document.js';
import type { SessionEvents, SessionStatus, ToolsetEndpoint, ToolsetList } from '../core/ports.js';
import { silentLogger } from '../core/silent-logger.js';
import { type Snapshot, takeSnapshot } from '../core/snapshot.js';
import { openSession } from '../mcp/session.js';
import { readIndex, readSiblingHealth } from '../mcp/toolset-index.js';
import { Turnstile } from '../turnstile.js';
import type { FingerprintArguments } from './arguments.js';
import { shownNames, shownText } from './shown-text.js';
import { type CommandContext, CommandFailure, limitTime } from './terminal.js';

/** The name of a toolset whose `MCP_URL` is no index (CONTRACT.md 3.13). It is no part of the fingerprint. */
const SINGLE_TOOLSET = 'server';

const UNHEARD: SessionEvents = { signal: () => undefined, status: () => undefined, viewsChanged: () => undefined };

/**
 * Lists one MCP server over the session layer of the service and prints its toolset fingerprint (CONTRACT.md 5), which `GET /refresh` shows
 * for the same list. Standard output has nothing else, so that a script can take it. Returns the exit code.
 */
export async function printFingerprint(options: FingerprintArguments, context: CommandContext): Promise<number> {
  const { terminal, clock } = context;
  const limit = limitTime(clock, options.timeoutSeconds * 1_000, context.signal);
  try {
    const endpoint = await findEndpoint(options, { context, signal: limit.signal });
    const listed = await listOnce(endpoint, { context, signal: limit.signal });
    if (options.json) terminal.out(JSON.stringify(asJson(listed)));
    else {
      terminal.out(listed.snapshot.fingerprint);
      for (const line of remarks(listed)) terminal.note(line);
    }
    return 0;
  } catch (error) {
    if (limit.isOver) terminal.note(`${shownText(options.url)} was not listed within ${options.timeoutSeconds} s.`);
    else if (error instanceof CodedError) terminal.note(`${error.code}: ${shownText(error.message)}`);
    else if (error instanceof CommandFailure) terminal.note(error.message);
    else if (!context.signal.aborted) throw error;
    return 1;
  } finally {
    limit.cancel();
  }
}

interface Listed {
  readonly snapshot: Snapshot;
  readonly list: ToolsetList;
  readonly status: SessionStatus;
}

interface Asking {
  readonly context: CommandContext;
  readonly signal: AbortSignal;
}

async function listOnce(endpoint: ToolsetEndpoint, { context, signal }: Asking): Promise<Listed> {
  const { clock, env, version } = context;
  const clientInfo = { name: 'mcp-agent-api', version };
  const session = openSession({
    endpoint,
    clock,
    env,
    clientInfo,
    events: UNHEARD,
    logger: silentLogger,
    turnstile: new Turnstile(),
    heartbeatSeconds: 0,
  });
  try {
    await session.connect(signal);
    const list = await session.list(signal);
    return { list, snapshot: takeSnapshot({ endpoint, list }), status: session.status() };
  } finally {
    await session.close();
  }
}

/** What the service would be told about this toolset: by its index, or by the server's own `/health` where the URL is no index. */
async function findEndpoint(options: FingerprintArguments, { context, signal }: Asking): Promise<ToolsetEndpoint> {
  const { url, name } = options;
  const { env } = context;
  const given = options.credentialHeaders && credentialHeadersOf({ credential_headers: options.credentialHeaders });
  const read = await readIndex(url, { env, signal }).catch((error: unknown) => {
    // Some MCP servers answer a plain GET with a 5xx; and where nothing answers at all, the session says so in its own words.
    if (error instanceof CodedError && !signal.aborted) return { kind: 'not-an-index' } as const;
    throw error;
  });
  if (read.kind === 'not-an-index') {
    const credentialHeaders = given ?? (await readSiblingHealth(url, { env, signal }));
    return { name: name ?? SINGLE_TOOLSET, url, headers: {}, credentialHeaders };
  }
  const { entries } = read.document;
  const names = entries.map((entry) => (entry.ok ? entry.endpoint.name : entry.name));
  const entry = name === undefined && entries.length === 1 ? entries[0] : entries[names.indexOf(name ?? '')];
  if (entry === undefined)
    throw new CommandFailure('refused', `This is an index; say with --name which of its toolsets is meant: ${shownNames(names)}.`);
  if (!entry.ok) throw new CommandFailure('refused', `The index's entry for ${shownText(entry.name)} cannot be used: ${entry.reason}`);
  return { ...entry.endpoint, credentialHeaders: given ?? entry.endpoint.credentialHeaders };
}

function asJson({ snapshot, status }: Listed): object {
  const { fingerprint, toolset, url, tools, withheld, credentialHeaders } = snapshot;
  return {
    fingerprint,
    name: toolset,
    url,
    tools: tools.map((tool) => tool.name),
    withheld,
    credentialHeaders,
    protocol: status.protocol ?? null,
    state: status.push,
  };
}

/** What a toolset's author should know besides the fingerprint. */
function remarks({ snapshot, list, status }: Listed): string[] {
  const { tools, withheld, credentialHeaders, hidden } = snapshot;
  const headers = credentialHeaders.length === 0 ? 'none' : shownNames(credentialHeaders);
  const push =
    status.push === 'watching'
      ? 'It can announce changes: they are live within a second.'
      : 'It cannot announce changes, so they are found by polling or by a deploy hook (docs/toolset-authors.md).';
  return [
    `${tools.length} tools, protocol ${status.protocol ?? 'unknown'}, credential headers: ${headers}.`,
    ...(list.declaresTools ? [] : ['The server does not declare the tools capability, so it was not asked for tools.']),
    ...withheld.map(({ tool, reason }) => `Withheld from models: ${shownText(tool)} (${reason})`),
    ...(hidden.characters === 0
      ? []
      : [`Hidden characters that models are not shown: ${hidden.characters}, in ${shownNames(hidden.tools)}.`]),
    push,
  ];
}
