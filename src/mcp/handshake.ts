import { Client, type Implementation, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { CodedError, type ErrorCode } from '../core/errors.js';
import type { Logger } from '../core/ports.js';
import type { Exchanges } from './exchange.js';
import { failureOf, unsupportedVersion } from './failure.js';
import { type CallRegister, sdkFetch } from './sdk-fetch.js';
import { unlessAborted } from './time-limit.js';
import { INITIALIZE_VERSIONS, versionRefusalIn, versionsAfter } from './version-refusal.js';

export interface HandshakeOptions {
  readonly toolset: string;
  readonly url: string;
  readonly clientInfo: Implementation;
  readonly exchanges: Exchanges;
  readonly calls: CallRegister;
  readonly logger: Logger;
  /** How long the question for the protocol era may stay unanswered before an older server is assumed, in milliseconds. */
  readonly probeMs: number;
  /** How long `initialize` may take, in milliseconds. */
  readonly connectMs: number;
  readonly signal: AbortSignal;
}

/** A client that has finished its handshake, and the transport under it. */
export interface Handshake {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
}

/** Failures of the first try after which the server may still be an older one, which did not understand the question. */
const MAYBE_OLDER: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'TOOLSET_NOT_MCP',
  'TOOLSET_PROTOCOL_ERROR',
  'TOOLSET_REFUSED',
  'SESSION_LOST',
  'TOOLSET_SERVER_ERROR',
]);

/** A proxy says these when the server behind it is not there; they tell nothing about the server's age. */
const BEHIND_PROXY = new Set([502, 503, 504]);

/**
 * Does the protocol handshake, the newest era first (CONTRACT.md 4.1). `onTransport` learns of each transport before it is
 * used, so that messages which arrive early have somewhere to go. Throws a CodedError; then nothing is left open.
 */
export async function shakeHands(
  options: HandshakeOptions,
  onTransport: (transport: StreamableHTTPClientTransport) => void,
): Promise<Handshake> {
  try {
    return await tryOnce(options, { kind: 'any-era' }, onTransport);
  } catch (error) {
    if (options.signal.aborted) throw error;
    const failure = failureOf(error, options.toolset);
    const hung = failure.code === 'TOOLSET_UNREACHABLE' && isTimeout(failure);
    const maybeOlder = MAYBE_OLDER.has(failure.code) && !BEHIND_PROXY.has(failure.status ?? 0);
    if (!hung && !maybeOlder) throw failure;
    options.logger.debug('handshake repeated for an older protocol era', { toolset: options.toolset, code: failure.code });
    // When it was `initialize` that was refused, for its version, offering that one again is of no use.
    const refusal = versionRefusalIn(failure);
    const versions = refusal === undefined ? INITIALIZE_VERSIONS : versionsAfter(refusal, INITIALIZE_VERSIONS);
    if (versions === undefined) throw unsupportedVersion({ toolset: options.toolset, cause: failure });
    return await initialize(options, versions, onTransport);
  }
}

/** Offers the versions one after another, as far as the server refuses them for their version. */
async function initialize(
  options: HandshakeOptions,
  versions: readonly string[],
  onTransport: (transport: StreamableHTTPClientTransport) => void,
): Promise<Handshake> {
  for (let offered = versions; ; ) {
    try {
      return await tryOnce(options, { kind: 'legacy', versions: offered }, onTransport);
    } catch (error) {
      const refusal = options.signal.aborted ? undefined : versionRefusalIn(error);
      if (refusal === undefined) throw error;
      const next = versionsAfter(refusal, offered);
      if (next === undefined) throw unsupportedVersion({ toolset: options.toolset, cause: error });
      offered = next;
    }
  }
}

async function tryOnce(
  options: HandshakeOptions,
  era: { readonly kind: 'any-era' } | { readonly kind: 'legacy'; readonly versions: readonly string[] },
  onTransport: (transport: StreamableHTTPClientTransport) => void,
): Promise<Handshake> {
  const { toolset, logger, signal } = options;
  const client = new Client(options.clientInfo, {
    capabilities: {},
    versionNegotiation: { mode: 'auto', probe: { timeoutMs: options.probeMs } },
    // Without it the SDK answers an empty list where it should refuse to ask.
    enforceStrictCapabilities: true,
    ...(era.kind === 'legacy' && { supportedProtocolVersions: [...era.versions] }),
  });
  client.onerror = (error) => logger.debug('MCP client reported an error', { toolset, code: failureOf(error, toolset).code });
  const transport = new StreamableHTTPClientTransport(new URL(options.url), {
    fetch: sdkFetch(options.exchanges, options.calls),
    // The notification stream is ours, so there is nothing that the SDK could open again.
    reconnectionOptions: { maxRetries: 0, initialReconnectionDelay: 1_000, maxReconnectionDelay: 1_000, reconnectionDelayGrowFactor: 1 },
  });
  onTransport(transport);
  const connecting = client.connect(transport, {
    timeout: options.connectMs,
    ...(era.kind === 'legacy' && { prior: { kind: 'legacy' as const } }),
  });
  try {
    await unlessAborted(connecting, signal);
    return { client, transport };
  } catch (error) {
    // After an abort the attempt is still under way; closing the transport ends it, and its own rejection then has no reader.
    connecting.catch(() => undefined);
    await transport.close();
    if (signal.aborted) throw new CodedError('SESSION_CLOSED', `The session with toolset "${toolset}" was closed.`, { toolset });
    throw failureOf(error, toolset);
  }
}

function isTimeout(failure: CodedError): boolean {
  return failure.cause instanceof Error && failure.status === undefined && /timed out|timeout/i.test(failure.cause.message);
}
