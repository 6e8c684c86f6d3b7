import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { AIMessage, AIMessageChunk, type BaseMessage, type InvalidToolCall, type ToolCall, ToolMessage } from '@langchain/core/messages';
import { createMiddleware } from 'langchain';
import { freshId } from './message-ids.js';

/** The model could not be asked, or its answer could not be read. `cause` is the provider's error; its text may hold secrets, so it is not repeated here. */
export class ModelFailure extends Error {
  constructor(cause: unknown) {
    super('The model call failed.', { cause });
    this.name = 'ModelFailure';
  }
}

/** Tool names that every provider accepts in a conversation (CONTRACT.md 6.1). */
const VALID_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** `createAgent` takes calls of tools with this prefix for its own structured output and ends the turn without running them. */
export const RESERVED_PREFIX = 'extract-';

/** How many names an answer to the call of an unknown tool lists. */
const LISTED_NAMES = 50;

/**
 * Keeps a turn going whatever the model answers: calls of unknown tools and calls whose arguments are no JSON are answered with an
 * error that the model sees, and what providers would refuse in the next request (missing call ids, empty tool names, ids that the thread holds
 * already) is put right before it is stored. Because it wraps tool calls, LangChain makes a tools node even for an agent without tools.
 */
export function turnRules(toolNames: readonly string[]) {
  // Made when the model first answers: an agent that is swapped away before pays nothing for it.
  let known: ReadonlySet<string> | undefined;
  return createMiddleware({
    name: 'TurnRules',
    wrapModelCall: async (request, handler) => {
      let answer: AIMessage;
      try {
        answer = await handler(request);
      } catch (error) {
        if (request.runtime.signal?.aborted) throw error;
        throw new ModelFailure(error);
      }
      known ??= new Set(toolNames);
      return tidyAnswer(answer, { messages: request.messages, known });
    },
    wrapToolCall: async (request, handler) => {
      // Parallel calls share one signal, and each listens to it several times: Node would take more than ten of them for a leak.
      if (request.runtime.signal) setMaxListeners(Number.POSITIVE_INFINITY, request.runtime.signal);
      const { name, id = '' } = request.toolCall;
      const refuse = (content: string) => new ToolMessage({ id: randomUUID(), content, name, tool_call_id: id, status: 'error' });
      if (request.tool === undefined) return refuse(unknownTool(name, toolNames));
      if (hasBrokenArguments(request.state.messages, id)) {
        return refuse(`Error: The arguments of this call of the tool ${JSON.stringify(name)} are not valid JSON. It was not run.`);
      }
      try {
        return await handler(request);
      } catch (error) {
        if (request.runtime.signal?.aborted) throw error;
        // Whatever broke on this side of the call is told to the model, so that the other calls and the turn go on.
        return refuse(`Error: The tool ${JSON.stringify(name)} failed.`);
      }
    },
  });
}

/**
 * `createAgent` routes calls of tools named `extract-…` to nowhere, unless a step comes between the model and its tools. This one
 * does nothing; it is added only where a tool has such a name, because every step costs a checkpoint.
 */
export function reservedNamesRule() {
  return createMiddleware({ name: 'ReservedNamesRule', afterModel: () => undefined });
}

/** The model's answer as it is stored in the thread. */
export function tidyAnswer(
  answer: AIMessage,
  { messages, known }: { messages: readonly BaseMessage[]; known: ReadonlySet<string> },
): AIMessage {
  const { calls, broken } = sortCalls(answer);
  const acceptable = calls.every((call) => call.id && isAcceptable(call.name, known)) && broken.length === 0;
  const id = answer.id && freshId(answer.id, new Set(messages.map((message) => message.id)));
  if (acceptable && id === answer.id) return answer;
  if (acceptable) {
    answer.id = id;
    answer.lc_kwargs.id = id;
    return answer;
  }
  const named = [...calls, ...broken.map(({ name, id: callId }) => ({ name: name ?? '', id: callId, args: {} }))];
  const { tool_calls: _raw, ...additional } = answer.additional_kwargs;
  return new AIMessage({
    id,
    content: answer.text,
    name: answer.name,
    tool_calls: named.map((call) => ({
      name: isAcceptable(call.name, known) ? call.name : replacementName(call.name),
      id: call.id || `call_${randomUUID()}`,
      args: call.args,
      type: 'tool_call' as const,
    })),
    invalid_tool_calls: broken,
    additional_kwargs: additional,
    response_metadata: answer.response_metadata,
    usage_metadata: answer.usage_metadata,
  });
}

/** LangChain completes arguments that break off in the middle; a tool must not run with what the model never finished saying. */
function sortCalls(answer: AIMessage): { calls: ToolCall[]; broken: InvalidToolCall[] } {
  const raw = new Map((AIMessageChunk.isInstance(answer) ? (answer.tool_call_chunks ?? []) : []).map(({ id, args }) => [id, args]));
  const calls: ToolCall[] = [];
  const broken: InvalidToolCall[] = [...(answer.invalid_tool_calls ?? [])];
  for (const call of answer.tool_calls ?? []) {
    const args = raw.get(call.id);
    if (isJson(args)) calls.push(call);
    else broken.push({ type: 'invalid_tool_call', id: call.id, name: call.name, args, error: 'The arguments are not valid JSON.' });
  }
  return { calls, broken };
}

/** No arguments at all stand for an empty object. */
function isJson(text: string | undefined): boolean {
  if (!text) return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    // That the text is no JSON is the answer.
    return false;
  }
}

function isAcceptable(name: string, known: ReadonlySet<string>): boolean {
  return known.has(name) || (VALID_NAME.test(name) && !name.startsWith(RESERVED_PREFIX));
}

function replacementName(name: string): string {
  const valid = name.replace(/[^A-Za-z0-9_]/g, '_').slice(0, 64);
  return valid === '' ? 'unnamed_tool' : valid;
}

function unknownTool(name: string, toolNames: readonly string[]): string {
  const listed = toolNames.slice(0, LISTED_NAMES).join(', ');
  const rest = toolNames.length > LISTED_NAMES ? `, and ${toolNames.length - LISTED_NAMES} more` : '';
  const available = toolNames.length === 0 ? 'No tools are available at present.' : `Available tools: ${listed}${rest}.`;
  return `Error: There is no tool named ${JSON.stringify(name)}. ${available}`;
}

function hasBrokenArguments(messages: readonly BaseMessage[], callId: string): boolean {
  const answer = messages.findLast((message) => AIMessage.isInstance(message));
  return AIMessage.isInstance(answer) && (answer.invalid_tool_calls ?? []).some((call) => call.id === callId);
}
