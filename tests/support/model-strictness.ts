import type { ModelMessage, ModelRequest } from './model-server.js';
import { refusalOf } from './strict-provider.js';

const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Why a strict provider would refuse this request, or undefined. */
export function refusalOfRequest(body: ModelRequest['body']): string | undefined {
  const shown = new Set<string>();
  for (const { function: tool } of body.tools ?? []) {
    if (!TOOL_NAME.test(tool.name)) return `Invalid tool name: '${tool.name}' does not match ${TOOL_NAME.source}.`;
    if (shown.has(tool.name)) return `Tool names must be unique: '${tool.name}'.`;
    shown.add(tool.name);
    const refusal = tool.parameters === undefined ? undefined : refusalOf(tool.parameters);
    if (refusal !== undefined) return `Invalid schema for function '${tool.name}': ${refusal}`;
  }
  return refusalOfMessages(body.messages);
}

/** Each message with tool calls must be followed directly by one tool message per call, and no tool message may come without one. */
function refusalOfMessages(messages: readonly ModelMessage[]): string | undefined {
  let open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id ?? '')) {
        return `messages[${index}]: a message with role 'tool' must be a response to a preceding message with 'tool_calls'.`;
      }
      continue;
    }
    if (open.size > 0) break;
    open = new Set((message.tool_calls ?? []).map((call) => call.id));
  }
  if (open.size === 0) return undefined;
  return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'; missing: ${[...open].join(', ')}.`;
}
