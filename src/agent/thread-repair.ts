import { randomUUID } from 'node:crypto';
import { AIMessage, type BaseMessage, RemoveMessage, ToolMessage } from '@langchain/core/messages';
import { REMOVE_ALL_MESSAGES, type StateSnapshot } from '@langchain/langgraph';

/** What the model reads in place of a result that never came (CONTRACT.md 7.5). */
const INTERRUPTED = 'Error: The run was interrupted before this tool call was answered. It may or may not have run.';

/** The messages that a state holds. */
export function messagesOf(state: StateSnapshot): BaseMessage[] {
  const messages: unknown = state.values?.messages;
  return Array.isArray(messages) ? messages : [];
}

/**
 * What has to be added to a thread so that every tool call in it has its result: a run that was cancelled or a process that died leaves
 * calls without results, and providers refuse such a conversation. Results that parallel calls had already brought are kept.
 * Returns an empty list for a sound thread.
 */
export function repairOf(state: StateSnapshot): BaseMessage[] {
  const pending = pendingResults(state);
  const kept = new Map(pending.map((result) => [result.tool_call_id, result]));
  const pendingIds = new Set(pending.map((result) => result.id));
  // A snapshot shows pending results among the messages, but the next turn starts without them.
  const messages = messagesOf(state).filter((message) => !pendingIds.has(message.id));
  const repaired: BaseMessage[] = [];
  const placed = new Set<BaseMessage>();
  for (const [index, message] of messages.entries()) {
    // A result is placed together with its call; one whose call is not in the thread would be refused, so it is left out.
    if (ToolMessage.isInstance(message)) continue;
    repaired.push(message);
    const missing = new Map((AIMessage.isInstance(message) ? (message.tool_calls ?? []) : []).map((call) => [call.id ?? '', call.name]));
    for (const later of messages.slice(index + 1)) {
      if (missing.size === 0) break;
      if (!ToolMessage.isInstance(later) || placed.has(later) || !missing.delete(later.tool_call_id)) continue;
      placed.add(later);
      repaired.push(later);
    }
    for (const [id, name] of missing) repaired.push(kept.get(id) ?? unanswered(id, name));
  }
  return difference(messages, repaired);
}

/** Results that parallel tool calls brought before the run ended; LangGraph keeps them beside the state until the step is complete. */
function pendingResults(state: StateSnapshot): ToolMessage[] {
  return (state.tasks ?? []).flatMap((task) => {
    const result: unknown = 'result' in task ? task.result : undefined;
    const messages = typeof result === 'object' && result !== null && 'messages' in result ? result.messages : undefined;
    return [messages].flat().filter((message): message is ToolMessage => ToolMessage.isInstance(message));
  });
}

function unanswered(callId: string, name: string): ToolMessage {
  return new ToolMessage({ id: randomUUID(), content: INTERRUPTED, name, tool_call_id: callId, status: 'error' });
}

/** Only appending is cheap and keeps the history's order; anything else replaces the whole list. */
function difference(before: readonly BaseMessage[], after: readonly BaseMessage[]): BaseMessage[] {
  if (before.every((message, index) => message === after[index])) return after.slice(before.length);
  return [new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), ...after];
}
