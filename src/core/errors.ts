/**
 * The catalogue of error codes for everything that can go wrong between this service and a toolset, the index
 * or the agent build. `npm run docs:errors` writes docs/errors.md from it.
 *
 * `patience` says how often a failing toolset is asked again (CONTRACT.md 3.6):
 * - `soon`: nothing answered, or the server said 5xx; it may be back any moment.
 * - `later`: the answer was wrong (malformed, 4xx); somebody has to mend the toolset.
 * - `rarely`: the toolset refused us (401, 403).
 *
 * `text` is what the code means, and `remedy` what an operator does about it.
 */
export const ERROR_CODES = {
  TOOLSET_UNREACHABLE: {
    patience: 'soon',
    text: 'No connection to the toolset could be made, or it broke before the answer was complete.',
    remedy: 'Check that the toolset runs and that its URL and port are reachable from here.',
  },
  TOOLSET_UNKNOWN_HOST: {
    patience: 'soon',
    text: "The host name in the toolset's URL does not resolve.",
    remedy: 'Check the host name in the index, and the name server.',
  },
  TOOLSET_CERTIFICATE: {
    patience: 'soon',
    text: "The toolset's TLS certificate is expired or not trusted.",
    remedy: 'Renew the certificate, or name its authority with `NODE_EXTRA_CA_CERTS`.',
  },
  TOOLSET_SERVER_ERROR: {
    patience: 'soon',
    text: 'The toolset answered with a 5xx status.',
    remedy: "Read the toolset's own log.",
  },
  TOOLSET_RATE_LIMITED: {
    patience: 'later',
    text: 'The toolset answered 429 (too many requests) or 408.',
    remedy: 'Raise the limit for this service, or list less often. A `Retry-After` of the toolset is respected for up to one hour.',
  },
  TOOLSET_UNAUTHORIZED: {
    patience: 'rarely',
    text: 'The toolset answered 401 or 403: the service credentials are missing or not accepted.',
    remedy: 'Check the headers in the index and the `MCP_HEADER_…` variables that they name.',
  },
  TOOLSET_REFUSED: {
    patience: 'later',
    text: 'The toolset answered with a 4xx status or an unexpected redirect.',
    remedy: 'Check the URL: it has to be the MCP endpoint itself.',
  },
  TOOLSET_NOT_MCP: {
    patience: 'later',
    text: 'The answer is not MCP: another content type (for example an HTML sign-in page), or no JSON.',
    remedy: 'Something else answers at this URL, often a sign-in page or a proxy. Check the URL and the credentials.',
  },
  TOOLSET_PROTOCOL_ERROR: {
    patience: 'later',
    text: 'The toolset answered with a JSON-RPC error.',
    remedy: "Read the toolset's own log; the JSON-RPC code is in the message.",
  },
  TOOLSET_VERSION_UNSUPPORTED: {
    patience: 'later',
    text: 'The toolset speaks no protocol version that this service knows.',
    remedy: 'Bring the toolset to a protocol version from 2025-03-26 on.',
  },
  TOOLSET_ENTRY_INVALID: {
    patience: 'later',
    text: "The index's entry for this toolset cannot be used (URL, transport or headers).",
    remedy: 'Mend the entry in the index. The message says what is wrong with it.',
  },
  SESSION_LOST: {
    patience: 'soon',
    text: 'The toolset no longer knows the MCP session.',
    remedy:
      'Nothing: a new session is opened. When it happens often, the toolset restarts often, or a load balancer sends a session to different processes.',
  },
  LIST_TIMEOUT: {
    patience: 'soon',
    text: 'The tool list was not complete within MCP_AGENT_API_LIST_TIMEOUT_SECONDS.',
    remedy: 'Find out why the list is slow, or raise `MCP_AGENT_API_LIST_TIMEOUT_SECONDS`.',
  },
  LIST_INCOMPLETE: {
    patience: 'later',
    text: 'The walk over the pages did not reach the end: a page is missing, a cursor came twice, or there are too many pages.',
    remedy: "Mend the toolset's paging. Where the list ends, leave `nextCursor` out: an empty one is followed like any other.",
  },
  LIST_MALFORMED: {
    patience: 'later',
    text: 'A page of the tool list is not what MCP asks for, for example `tools: null` or an entry that is no tool.',
    remedy: 'Mend the toolset. The message says which entry it is.',
  },
  LIST_TOO_LARGE: {
    patience: 'later',
    text: 'The tool list has more than 5000 tools, 200 pages, 16 MiB in one answer or 64 MiB in all.',
    remedy: 'Split the toolset into several.',
  },
  REVIEW_UNKNOWN: {
    patience: 'soon',
    text: 'The toolset is under review, and the store does not say what was approved of it.',
    remedy: 'The store of `MCP_AGENT_CHECKPOINT` cannot be reached; it is asked again.',
  },
  TOOLS_CAPABILITY_LOST: {
    patience: 'later',
    text: 'The toolset had tools and no longer declares the `tools` capability.',
    remedy: 'Declare `tools` again, or take the toolset out of the index when it is meant to have none.',
  },
  CALL_TIMEOUT: {
    patience: 'soon',
    text: 'The tool call was not answered in time.',
    remedy: 'Raise `MCP_AGENT_API_TOOL_SECONDS`, or let the tool report progress while it works.',
  },
  CALL_OUTCOME_UNKNOWN: {
    patience: 'soon',
    text: 'The connection broke during a tool call. The tool may or may not have run, so the call was not repeated.',
    remedy: 'Nothing here: the model is told that the outcome is unknown. Look at the toolset or the network when it happens often.',
  },
  CALL_ANSWER_UNREADABLE: {
    patience: 'later',
    text: 'The answer of a tool call is too large or no MCP. The tool has probably run, so the call was not repeated.',
    remedy: 'Mend the tool: an answer has at most 16 MiB and follows the MCP specification. The model is told not to repeat the call.',
  },
  CALL_CANCELLED: {
    patience: 'soon',
    text: 'The tool call was cancelled.',
    remedy: 'Nothing: the client went away, or the run was stopped.',
  },
  TOOL_GONE: {
    patience: 'later',
    text: 'The toolset no longer has this tool.',
    remedy: 'Nothing: the model is told, and the toolset is listed again.',
  },
  VIEW_TIMEOUT: {
    patience: 'soon',
    text: 'The view was not read within MCP_AGENT_API_LIST_TIMEOUT_SECONDS.',
    remedy: 'Find out why `resources/read` is slow. A version that was read before stays in use.',
  },
  VIEW_UNREADABLE: {
    patience: 'later',
    text: 'What the toolset answered for a view is no page: no text, another media type, or too large; or it declares no resources.',
    remedy: 'Serve the URI that the tool names as `text/html;profile=mcp-app`.',
  },
  SESSION_CLOSED: {
    patience: 'soon',
    text: 'The session was closed on this side.',
    remedy: 'Nothing: the toolset left the index, or the service is stopping.',
  },
  INDEX_UNREACHABLE: {
    patience: 'soon',
    text: 'The index at MCP_URL could not be read.',
    remedy: 'Check `MCP_URL`, and that the index is served or the file can be read. The last good index stays in use.',
  },
  INDEX_UNKNOWN_HOST: {
    patience: 'soon',
    text: 'The host name in MCP_URL does not resolve.',
    remedy: 'Check the host name in `MCP_URL`, and the name server. The last good index stays in use.',
  },
  INDEX_CERTIFICATE: {
    patience: 'soon',
    text: "The index's TLS certificate is expired or not trusted.",
    remedy: 'Renew the certificate, or name its authority with `NODE_EXTRA_CA_CERTS`. The last good index stays in use.',
  },
  INDEX_MALFORMED: {
    patience: 'later',
    text: 'What MCP_URL answers is no index.',
    remedy: 'Mend the index. The last good one stays in use.',
  },
  INDEX_EMPTY: {
    patience: 'later',
    text: 'The index names no toolset at all.',
    remedy: 'Name at least one toolset in the index. The last good one stays in use.',
  },
  BUILD_FAILED: {
    patience: 'later',
    text: 'No agent could be built from the new catalog.',
    remedy:
      'Read the message: a changed tool cannot be given to the model. The current agent stays; building is tried again after 1, 5 and 30 s and at every poll.',
  },
  STARTUP_FAILED: {
    patience: 'later',
    text: 'The first agent was not ready within MCP_AGENT_API_STARTUP_SECONDS.',
    remedy: 'Read the other lines of the start: there is one for each toolset that did not answer.',
  },
} as const satisfies Record<string, { patience: Patience; text: string; remedy: string }>;

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
