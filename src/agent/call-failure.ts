import { CodedError } from '../core/errors.js';
import { RefusedCall } from '../core/refused-call.js';

/**
 * What the model reads when a tool call brought no answer (CONTRACT.md 7.7). The sentences are fixed texts of this product: nothing
 * that the network answered is repeated, so no credential can slip into the conversation. Only what the toolset said to the
 * caller in a JSON-RPC error is handed on, as its results are.
 */
export function explainCallFailure(error: unknown, { tool, toolSeconds }: { tool: string; toolSeconds: number }): string {
  const name = JSON.stringify(tool);
  if (error instanceof RefusedCall && error.said.trim() !== '')
    return `Error: The toolset refused the call of the tool ${name}: ${error.said}`;
  if (!(error instanceof CodedError)) return `Error: The tool ${name} failed.`;
  switch (error.code) {
    case 'TOOL_GONE':
      return `Error: The tool ${name} is no longer available.`;
    case 'CALL_TIMEOUT':
      return `Error: The tool ${name} did not answer within ${toolSeconds} seconds. It may or may not have run.`;
    case 'CALL_OUTCOME_UNKNOWN':
      return `Error: The connection broke while the tool ${name} was being called. The outcome is unknown: it may or may not have run, and it was not repeated.`;
    case 'CALL_ANSWER_UNREADABLE':
      return `Error: The tool ${name} was called, but its answer cannot be read: it is too large or malformed. It has probably run, so do not call it again for the same purpose.`;
    case 'CALL_CANCELLED':
      return `Error: The call of the tool ${name} was cancelled.`;
    case 'TOOLSET_UNAUTHORIZED':
      return `Error: The tool ${name} was refused: its credentials are missing or were not accepted.`;
    case 'TOOLSET_RATE_LIMITED':
      return `Error: The tool ${name} was refused because of too many requests. It can be tried again later.`;
    case 'TOOLSET_PROTOCOL_ERROR':
      return `Error: The toolset refused the call of the tool ${name}, for example because the arguments do not fit.`;
    default:
      return `Error: The tool ${name} cannot be reached at present (${error.code}).`;
  }
}
