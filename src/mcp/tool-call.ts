import { ProtocolError, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import { CodedError, type ErrorCode } from '../core/errors.js';
import type { ToolCallRequest, ToolCallResult, ToolsetEndpoint } from '../core/ports.js';
import { RefusedCall, withoutCredentials } from '../core/refused-call.js';
import type { ToolDefinition } from '../core/tool.js';
import type { Connection } from './connection.js';
import { failureOf, mayHaveRun } from './failure.js';
import { isObject } from './rpc-message.js';
import { CALL_HEADER } from './sdk-fetch.js';
import { timeLimit } from './time-limit.js';

/** Progress restarts a call's time limit, up to this many times its length (CONTRACT.md 7.7). */
const PROGRESS_FACTOR = 10;

/** The longest piece of a server's own error text that the model is shown. */
const MAX_ERROR_TEXT = 500;

const GONE = /unknown tool|tool .{0,200}not found|no such tool|tool .{0,200}(does not|doesn't) exist/i;

/**
 * Calls a tool on this connection, once (CONTRACT.md 7.7). Throws CALL_CANCELLED, CALL_TIMEOUT, CALL_OUTCOME_UNKNOWN, TOOL_GONE,
 * or the error that kept the call from the server; {@link mayHaveRun} tells whether a SESSION_LOST may be repeated.
 */
export async function callTool(
  connection: Connection,
  options: { readonly request: ToolCallRequest; readonly definition: ToolDefinition | undefined },
): Promise<ToolCallResult> {
  const { request, definition } = options;
  const toolset = connection.endpoint.name;
  const cancelled = () => new CodedError('CALL_CANCELLED', `The call of "${request.tool}" was cancelled.`, { toolset });
  if (request.signal?.aborted) throw cancelled();
  const limit = timeLimit({ clock: connection.wire.clock, ms: request.timeoutMs * PROGRESS_FACTOR, signal: request.signal });
  // Aborted when the call is over, however it ended: in the 2025 era the SDK gives up a call without closing its socket.
  const over = new AbortController();
  const number = connection.calls.enroll({ headers: userHeaders(connection.endpoint, request), signal: over.signal });
  try {
    const result = await connection.client.callTool(
      { name: request.tool, arguments: { ...request.args } },
      {
        // Without a definition the SDK looks for one in its own cache; an output schema would be compiled for every call.
        toolDefinition: definitionFor(request.tool, definition),
        headers: { [CALL_HEADER]: number },
        signal: limit.signal,
        timeout: request.timeoutMs,
        maxTotalTimeout: request.timeoutMs * PROGRESS_FACTOR,
        resetTimeoutOnProgress: true,
        onprogress: () => undefined,
      },
    );
    return {
      content: result.content,
      ...(result.structuredContent !== undefined && { structuredContent: result.structuredContent }),
      isError: result.isError === true,
      ...(result._meta !== undefined && { meta: result._meta }),
    };
  } catch (error) {
    if (request.signal?.aborted) throw cancelled();
    if (limit.expired() || isTimeout(error)) {
      const text = `The call of "${request.tool}" was not answered within ${request.timeoutMs} ms.`;
      throw new CodedError('CALL_TIMEOUT', text, { toolset, cause: error });
    }
    throw failureOfCall(error, { toolset, tool: request.tool, secrets: secretsOf(connection, request) });
  } finally {
    limit.end();
    connection.calls.forget(number);
    over.abort();
  }
}

/** True when a tool's own error result says that the tool does not exist: older SDK servers answer so. */
export function saysToolIsGone(result: ToolCallResult): boolean {
  const text = result.content[0]?.text;
  return result.isError && typeof text === 'string' && text.length < MAX_ERROR_TEXT && /-32602/.test(text) && GONE.test(text);
}

function failureOfCall(
  error: unknown,
  about: { readonly toolset: string; readonly tool: string; readonly secrets: readonly string[] },
): CodedError {
  const { toolset, tool, secrets } = about;
  const as = (code: ErrorCode, text: string) => new CodedError(code, text, { toolset, cause: error });
  if (error instanceof ProtocolError && (error.code === -32602 || error.code === -32601) && GONE.test(error.message))
    return as('TOOL_GONE', `Toolset "${toolset}" no longer has the tool "${tool}".`);
  const failure = failureOf(error, toolset);
  if (isUnreadable(error, failure)) return as('CALL_ANSWER_UNREADABLE', `The answer of "${tool}" is too large or no MCP.`);
  if (error instanceof ProtocolError && failure.code === 'TOOLSET_PROTOCOL_ERROR') {
    const said = withoutCredentials(error.message, secrets).slice(0, MAX_ERROR_TEXT);
    return new RefusedCall(said, { toolset, tool, rpcCode: error.code, cause: error });
  }
  if (failure.code === 'TOOLSET_UNREACHABLE' && mayHaveRun(failure)) {
    const text = `The connection broke during the call of "${tool}". It may or may not have run, so it was not repeated.`;
    return as('CALL_OUTCOME_UNKNOWN', text);
  }
  return failure;
}

/** True when an answer came, and what it says cannot be used. */
function isUnreadable(error: unknown, failure: CodedError): boolean {
  if (failure.code === 'LIST_TOO_LARGE') return true;
  if (failure.status !== undefined) return false;
  return failure.code === 'TOOLSET_NOT_MCP' || (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult);
}

function isTimeout(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
}

function definitionFor(name: string, definition: ToolDefinition | undefined): { name: string; inputSchema: { type: 'object' } } {
  const schema = isObject(definition?.inputSchema) ? definition.inputSchema : {};
  return { name, inputSchema: { ...schema, type: 'object' } };
}

/** The header values that went with this call, the service's own and the user's. */
function secretsOf({ wire, endpoint }: Connection, request: ToolCallRequest): string[] {
  return [...wire.serviceValues, ...Object.values(userHeaders(endpoint, request))];
}

/** The user's headers for this call, as far as the toolset declared them (CONTRACT.md 7.6). */
export function userHeaders(endpoint: ToolsetEndpoint, request: ToolCallRequest): Record<string, string> {
  const declared = new Set(endpoint.credentialHeaders);
  return Object.fromEntries(Object.entries(request.headers ?? {}).filter(([name]) => declared.has(name.toLowerCase())));
}
