import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, UnsupportedProtocolVersionError } from '@modelcontextprotocol/client';
import { CodedError, type ErrorCode } from '../core/errors.js';
import { AnswerTooLarge } from './answer.js';
import { rpcErrorIn } from './rpc-message.js';
import { versionRefusalOf } from './version-refusal.js';

/** The longest that a `Retry-After` is followed (CONTRACT.md 4.4). */
const MAX_RETRY_AFTER_MS = 3_600_000;

const UNKNOWN_HOST = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_NODATA', 'EAI_NONAME']);

const CERTIFICATE =
  /^(CERT_|ERR_TLS_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CRL_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH|ERR_SSL_)/;

/** Codes of errors that happen before a request has left: the server cannot have seen it. */
const NOT_SENT = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'UND_ERR_CONNECT_TIMEOUT', ...UNKNOWN_HOST]);

/** Codes of errors by which a network shows that packets get lost on the way. */
const SILENCE = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']);

const SESSION_TEXT = /session|not initialized|unsupported protocol version/i;

/** What kept a connection from being made, where that has a code of its own (CONTRACT.md 4.9). */
export function connectFault(error: unknown): 'unknown host' | 'certificate' | undefined {
  for (const each of causesOf(error)) {
    const code = codeOf(each) ?? '';
    if (UNKNOWN_HOST.has(code)) return 'unknown host';
    if (CERTIFICATE.test(code)) return 'certificate';
  }
  return undefined;
}

/** What the system calls the reason, for the end of a message: ` (ECONNREFUSED)`; empty where no error of the chain has a code. */
export function reasonIn(error: unknown): string {
  for (const each of causesOf(error)) {
    const code = codeOf(each);
    if (code !== undefined) return ` (${code})`;
  }
  return '';
}

/** Turns whatever the SDK, undici or our own reading threw into an error with a code. The message never holds an answer's body. */
export function failureOf(error: unknown, toolset: string): CodedError {
  for (const each of causesOf(error)) if (each instanceof CodedError) return each;
  for (const each of causesOf(error)) {
    const found = failureOfOne(each, { toolset, cause: error });
    if (found !== undefined) return found;
  }
  return new CodedError('TOOLSET_UNREACHABLE', `The connection to toolset "${toolset}" failed.`, { toolset, cause: error });
}

/** What one error of a cause chain says by itself; undefined when it says nothing, because then its cause may. */
function failureOfOne(error: unknown, details: { readonly toolset: string; readonly cause: unknown }): CodedError | undefined {
  const { toolset } = details;
  if (error instanceof AnswerTooLarge) return new CodedError('LIST_TOO_LARGE', error.message, details);
  if (error instanceof UnsupportedProtocolVersionError) return unsupportedVersion(details);
  if (error instanceof SdkHttpError) {
    const text = error.data?.text;
    return failureOfStatus({ toolset, status: error.data?.status ?? 0, text: typeof text === 'string' ? text : '', hasSession: false });
  }
  if (error instanceof ProtocolError) return failureOfRpcError({ toolset, code: error.code, message: error.message, data: error.data });
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.RequestTimeout)
      return new CodedError('TOOLSET_UNREACHABLE', `Toolset "${toolset}" did not answer in time.`, details);
    if (error.code === SdkErrorCode.ConnectionClosed || error.code === SdkErrorCode.NotConnected)
      return new CodedError('SESSION_CLOSED', `The session with toolset "${toolset}" was closed.`, details);
    if (error.code === SdkErrorCode.InvalidResult)
      return new CodedError('TOOLSET_PROTOCOL_ERROR', `Toolset "${toolset}" sent a result that the protocol does not allow.`, details);
    return undefined;
  }
  const name = fieldOf(error, 'name');
  if (name === 'SyntaxError' || name === 'RangeError' || name === 'ZodError')
    return new CodedError('TOOLSET_NOT_MCP', `Toolset "${toolset}" answered something that is no MCP message.`, details);
  if (/protocol version is not supported/i.test(String(fieldOf(error, 'message')))) return unsupportedVersion(details);
  const code = codeOf(error);
  if (code === undefined) return undefined;
  if (UNKNOWN_HOST.has(code))
    return new CodedError('TOOLSET_UNKNOWN_HOST', `The host name of toolset "${toolset}" does not resolve (${code}).`, details);
  if (CERTIFICATE.test(code))
    return new CodedError('TOOLSET_CERTIFICATE', `The certificate of toolset "${toolset}" is not accepted (${code}).`, details);
  return new CodedError('TOOLSET_UNREACHABLE', `The connection to toolset "${toolset}" failed (${code}).`, details);
}

export interface RefusedAnswer {
  readonly toolset: string;
  readonly status: number;
  /** The body, for looking only. */
  readonly text: string;
  /** Whether the request named a session; then 404 means that the session is gone (MCP specification, "Session Management"). */
  readonly hasSession: boolean;
  readonly retryAfterMs?: number | undefined;
}

/** What an HTTP status outside 2xx means. */
export function failureOfStatus(answer: RefusedAnswer): CodedError {
  const { toolset, status, hasSession, retryAfterMs } = answer;
  const rpc = rpcErrorIn(answer.text);
  const code = codeOfStatus({ status, hasSession, rpc, text: answer.text });
  const what = status >= 300 && status < 400 ? `a redirect (HTTP ${status}) that is not followed` : `HTTP ${status}`;
  const also = rpc === undefined ? '' : ` with JSON-RPC error ${rpc.code}`;
  const cause = status >= 400 && status < 500 ? versionRefusalOf(rpc ?? { message: answer.text }) : undefined;
  return new CodedError(code, `Toolset "${toolset}" answered ${what}${also}.`, { toolset, status, retryAfterMs, cause });
}

function codeOfStatus(seen: {
  readonly status: number;
  readonly hasSession: boolean;
  readonly rpc: { readonly code: number; readonly message: string } | undefined;
  readonly text: string;
}): ErrorCode {
  const { status, hasSession, rpc, text } = seen;
  const namesSession = rpc === undefined ? text.length < 1_000 && /session/i.test(text) : SESSION_TEXT.test(rpc.message);
  if (rpc?.code === -32022) return 'SESSION_LOST';
  if (status === 404 && (hasSession || (rpc !== undefined && namesSession))) return 'SESSION_LOST';
  if (hasSession && (status === 410 || (status >= 400 && status < 500 && rpc?.code === -32001))) return 'SESSION_LOST';
  if ((status === 400 || status === 401 || status === 409 || status === 410) && namesSession) return 'SESSION_LOST';
  if (status === 503 && rpc?.code === -32001 && namesSession) return 'SESSION_LOST';
  if (status === 401 || status === 403) return 'TOOLSET_UNAUTHORIZED';
  if (status === 408 || status === 425 || status === 429) return 'TOOLSET_RATE_LIMITED';
  if (status >= 500) return 'TOOLSET_SERVER_ERROR';
  return rpc === undefined ? 'TOOLSET_REFUSED' : 'TOOLSET_PROTOCOL_ERROR';
}

/** What a JSON-RPC error means. The server's own text is left out: {@link CodedError} messages hold no answer. */
export function failureOfRpcError(error: {
  readonly toolset: string;
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}): CodedError {
  const { toolset, code, message } = error;
  const lost = code === -32022 || ((code === -32600 || code === -32001 || code === -32000) && SESSION_TEXT.test(message));
  const text = lost
    ? `Toolset "${toolset}" no longer knows the session (JSON-RPC error ${code}).`
    : `Toolset "${toolset}" answered JSON-RPC error ${code}.`;
  return new CodedError(lost ? 'SESSION_LOST' : 'TOOLSET_PROTOCOL_ERROR', text, { toolset, cause: versionRefusalOf(error) });
}

/** False when the request cannot have reached the tool: it never left, or the server refused it before running anything (4xx). */
export function mayHaveRun(error: CodedError): boolean {
  if (error.status !== undefined) return error.status >= 500 || error.status < 400;
  for (const each of causesOf(error)) {
    const code = codeOf(each);
    if (code !== undefined && (NOT_SENT.has(code) || CERTIFICATE.test(code))) return false;
  }
  return true;
}

/** True when nothing came back at all, not even a refusal of the network: then other sockets to the same place may be dead too, unnoticed. */
export function isSilence(error: CodedError): boolean {
  if (error.code === 'LIST_TIMEOUT') return true;
  for (const each of causesOf(error)) if (SILENCE.has(codeOf(each) ?? '')) return true;
  return false;
}

/** Reads `Retry-After`, seconds or an HTTP date, in milliseconds from `now`, at most one hour (CONTRACT.md 4.4). */
export function retryAfterOf(header: string | null, now: Date): number | undefined {
  if (header === null) return undefined;
  const text = header.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now.getTime();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

/** The server and this service have no protocol version in common. */
export function unsupportedVersion(details: { readonly toolset: string; readonly cause: unknown }): CodedError {
  return new CodedError('TOOLSET_VERSION_UNSUPPORTED', `Toolset "${details.toolset}" speaks no protocol version that we know.`, details);
}

/** The error itself, then its causes, outermost first; bounded, because a cause chain may be a circle. */
function* causesOf(error: unknown): Generator<unknown> {
  let each = error;
  for (let depth = 0; depth < 8 && each !== undefined && each !== null; depth += 1) {
    yield each;
    each = fieldOf(each, 'cause');
  }
}

function codeOf(error: unknown): string | undefined {
  const code = fieldOf(error, 'code');
  return typeof code === 'string' ? code : undefined;
}

/** Node's own errors may come from another realm, where `instanceof Error` says no; so their fields are looked at. */
function fieldOf(error: unknown, name: 'cause' | 'code' | 'name' | 'message'): unknown {
  return typeof error === 'object' && error !== null && name in error ? (error as { readonly [key: string]: unknown })[name] : undefined;
}
