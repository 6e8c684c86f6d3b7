/**
 * The catalogue of error codes for everything that can go wrong between this service and a toolset, the index
 * or the agent build. docs/errors.md lists the same codes; a test holds the two together.
 *
 * `patience` says how often a failing toolset is asked again (CONTRACT.md 3.6):
 * - `soon`: nothing answered, or the server said 5xx; it may be back any moment.
 * - `later`: the answer was wrong (malformed, 4xx); somebody has to mend the toolset.
 * - `rarely`: the toolset refused us (401, 403).
 */
export const ERROR_CODES = {
  TOOLSET_UNREACHABLE: {
    patience: 'soon',
    text: 'No connection to the toolset could be made, or it broke before the answer was complete.',
  },
  TOOLSET_UNKNOWN_HOST: { patience: 'soon', text: "The host name in the toolset's URL does not resolve." },
  TOOLSET_CERTIFICATE: { patience: 'soon', text: "The toolset's TLS certificate is expired or not trusted." },
  TOOLSET_SERVER_ERROR: { patience: 'soon', text: 'The toolset answered with a 5xx status.' },
  TOOLSET_RATE_LIMITED: { patience: 'later', text: 'The toolset answered 429 (too many requests) or 408.' },
  TOOLSET_UNAUTHORIZED: {
    patience: 'rarely',
    text: 'The toolset answered 401 or 403: the service credentials are missing or not accepted.',
  },
  TOOLSET_REFUSED: { patience: 'later', text: 'The toolset answered with a 4xx status or an unexpected redirect.' },
  TOOLSET_NOT_MCP: {
    patience: 'later',
    text: 'The answer is not MCP: another content type (for example an HTML sign-in page), or no JSON.',
  },
  TOOLSET_PROTOCOL_ERROR: { patience: 'later', text: 'The toolset answered with a JSON-RPC error.' },
  TOOLSET_VERSION_UNSUPPORTED: { patience: 'later', text: 'The toolset speaks no protocol version that this service knows.' },
  TOOLSET_ENTRY_INVALID: { patience: 'later', text: "The index's entry for this toolset cannot be used (URL, transport or headers)." },
  SESSION_LOST: { patience: 'soon', text: 'The toolset no longer knows the MCP session.' },
  LIST_TIMEOUT: { patience: 'soon', text: 'The tool list was not complete within MCP_AGENT_API_LIST_TIMEOUT_SECONDS.' },
  LIST_INCOMPLETE: {
    patience: 'later',
    text: 'The walk over the pages did not reach the end: a page is missing, a cursor came twice, or there are too many pages.',
  },
  LIST_MALFORMED: {
    patience: 'later',
    text: 'A page of the tool list is not what MCP asks for, for example `tools: null` or an entry that is no tool.',
  },
  LIST_TOO_LARGE: { patience: 'later', text: 'The tool list is larger than the bounds of CONTRACT.md 14.1 (bytes, tools or pages).' },
  REVIEW_UNKNOWN: { patience: 'soon', text: 'The toolset is under review, and the store does not say what was approved of it.' },
  TOOLS_CAPABILITY_LOST: { patience: 'later', text: 'The toolset had tools and no longer declares the `tools` capability.' },
  CALL_TIMEOUT: { patience: 'soon', text: 'The tool call was not answered in time.' },
  CALL_OUTCOME_UNKNOWN: {
    patience: 'soon',
    text: 'The connection broke during a tool call. The tool may or may not have run, so the call was not repeated.',
  },
  CALL_ANSWER_UNREADABLE: {
    patience: 'later',
    text: 'The answer of a tool call is too large or no MCP. The tool has probably run, so the call was not repeated.',
  },
  CALL_CANCELLED: { patience: 'soon', text: 'The tool call was cancelled.' },
  TOOL_GONE: { patience: 'later', text: 'The toolset no longer has this tool.' },
  VIEW_TIMEOUT: { patience: 'soon', text: 'The view was not read within MCP_AGENT_API_LIST_TIMEOUT_SECONDS.' },
  VIEW_UNREADABLE: {
    patience: 'later',
    text: 'What the toolset answered for a view is no page: no text, another media type, or too large; or it declares no resources.',
  },
  SESSION_CLOSED: { patience: 'soon', text: 'The session was closed on this side.' },
  INDEX_UNREACHABLE: { patience: 'soon', text: 'The index at MCP_URL could not be read.' },
  INDEX_UNKNOWN_HOST: { patience: 'soon', text: 'The host name in MCP_URL does not resolve.' },
  INDEX_CERTIFICATE: { patience: 'soon', text: "The index's TLS certificate is expired or not trusted." },
  INDEX_MALFORMED: { patience: 'later', text: 'What MCP_URL answers is no index.' },
  INDEX_EMPTY: { patience: 'later', text: 'The index names no toolset at all.' },
  BUILD_FAILED: { patience: 'later', text: 'No agent could be built from the new catalog.' },
  STARTUP_FAILED: { patience: 'later', text: 'The first agent was not ready within MCP_AGENT_API_STARTUP_SECONDS.' },
} as const satisfies Record<string, { patience: Patience; text: string }>;

export type Patience = 'soon' | 'later' | 'rarely';
export type ErrorCode = keyof typeof ERROR_CODES;

export interface CodedErrorDetails {
  /** The toolset that the error is about, by its name in the index. */
  readonly toolset?: string;
  /** The HTTP status that was answered, if one was. */
  readonly status?: number;
  /** From `Retry-After`: how long the server wants us to wait, in milliseconds, at most one hour. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

/** An error with a code of {@link ERROR_CODES}. The message is for operators and never holds a credential or an answer's body. */
export class CodedError extends Error {
  readonly code: ErrorCode;
  readonly toolset: string | undefined;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, details: CodedErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'CodedError';
    this.code = code;
    this.toolset = details.toolset;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** How patiently a toolset that failed with this error is asked again. */
export function patienceOf(error: CodedError): Patience {
  return ERROR_CODES[error.code].patience;
}
