import { AIMessage, type AIMessageChunk, type BaseMessage, ToolMessage } from '@langchain/core/messages';
import type { ToolArtifact } from './bind-tool.js';
import { freshId } from './message-ids.js';
import type { RunEvent } from './run-event.js';
import { textOf } from './thread-messages.js';

/** One model call while it streams. */
interface Answer {
  /** The id that the provider gave it. */
  readonly providerId: string;
  /** The id under which it is streamed and stored. */
  readonly messageId: string;
  text: 'none' | 'open' | 'ended';
  /** Tool calls by their place in the answer; providers name the id in the first piece only. */
  readonly callsByIndex: Map<number, string>;
  readonly openCalls: Set<string>;
  readonly seenCalls: Set<string>;
  /** Calls of which a piece of the arguments was sent. */
  readonly arguedCalls: Set<string>;
}

/**
 * Turns what LangGraph streams into run events. Pieces of an answer come from stream mode `messages`; the complete answer and the
 * tool results come from `updates`, which is also where a model that does not stream shows up.
 */
export class TurnEvents {
  /** Ids of the messages that the thread holds. */
  readonly #taken: Set<string | undefined>;
  /** Answers by the LangGraph task that produced them. */
  readonly #answers = new Map<string, Answer>();
  #current: Answer | undefined;

  constructor(messages: readonly BaseMessage[]) {
    this.#taken = new Set(messages.map((message) => message.id));
  }

  /** @param chunk one item of `graph.stream` with the stream modes `messages` and `updates`. */
  read(chunk: unknown): RunEvent[] {
    if (!Array.isArray(chunk)) return [];
    const [mode, payload] = chunk;
    if (mode === 'messages') return Array.isArray(payload) ? this.#readPiece(payload[0], payload[1]) : [];
    return mode === 'updates' ? messagesIn(payload).flatMap((message) => this.#readComplete(message)) : [];
  }

  #readPiece(piece: unknown, metadata: unknown): RunEvent[] {
    if (!AIMessage.isInstance(piece) || piece.id === undefined) return [];
    const answer = this.#answerOf(taskOf(metadata), piece.id);
    // When an answer was stored under another id, LangGraph sends it once more as a whole.
    if (answer.providerId !== piece.id) return [];
    const calls = 'tool_call_chunks' in piece ? ((piece as AIMessageChunk).tool_call_chunks ?? []) : [];
    return [...this.#text(answer, textOf(piece)), ...calls.flatMap((call) => this.#callPiece(answer, call))];
  }

  #answerOf(task: string, providerId: string): Answer {
    const known = this.#answers.get(task);
    if (known) return known;
    const messageId = freshId(providerId, this.#taken);
    const answer: Answer = {
      providerId,
      messageId,
      text: 'none',
      callsByIndex: new Map(),
      openCalls: new Set(),
      seenCalls: new Set(),
      arguedCalls: new Set(),
    };
    this.#answers.set(task, answer);
    this.#current = answer;
    return answer;
  }

  #text(answer: Answer, delta: string): RunEvent[] {
    if (delta === '' || answer.text === 'ended') return [];
    const { messageId } = answer;
    const start: RunEvent[] = answer.text === 'none' ? [{ type: 'text-start', messageId }] : [];
    answer.text = 'open';
    return [...start, { type: 'text-delta', messageId, delta }];
  }

  #callPiece(answer: Answer, piece: { id?: string; name?: string; args?: string; index?: number }): RunEvent[] {
    // Providers that leave the index out send calls one after the other: a piece with an id begins the next one.
    const index = piece.index ?? (piece.id ? answer.callsByIndex.size : answer.callsByIndex.size - 1);
    const events: RunEvent[] = [];
    if (piece.id && !answer.seenCalls.has(piece.id) && !answer.callsByIndex.has(index)) {
      answer.callsByIndex.set(index, piece.id);
      events.push(this.#startCall(answer, piece.id, piece.name ?? ''));
    }
    const callId = answer.callsByIndex.get(index);
    if (callId !== undefined && piece.args) {
      answer.arguedCalls.add(callId);
      events.push({ type: 'call-args', callId, delta: piece.args });
    }
    return events;
  }

  #startCall(answer: Answer, callId: string, tool: string): RunEvent {
    answer.seenCalls.add(callId);
    answer.openCalls.add(callId);
    return { type: 'call-start', callId, tool, messageId: answer.messageId };
  }

  #readComplete(message: BaseMessage): RunEvent[] {
    if (message.id !== undefined) this.#taken.add(message.id);
    if (ToolMessage.isInstance(message)) return [resultOf(message)];
    return AIMessage.isInstance(message) ? this.#completeAnswer(message) : [];
  }

  /** Ends what the pieces began, and sends as a whole what came in no piece. */
  #completeAnswer(message: AIMessage): RunEvent[] {
    const streamed = this.#current?.messageId === message.id ? this.#current : undefined;
    const answer = streamed ?? this.#answerOf(`complete ${message.id}`, message.id ?? '');
    const events: RunEvent[] = [];
    if (answer.text === 'none') events.push(...this.#text(answer, textOf(message)));
    if (answer.text === 'open') events.push({ type: 'text-end', messageId: answer.messageId });
    answer.text = 'ended';
    for (const { id = '', name, args } of message.tool_calls ?? []) {
      if (!answer.seenCalls.has(id)) events.push(this.#startCall(answer, id, name));
      // Some providers stream nothing for a call without arguments; clients expect JSON all the same.
      if (!answer.arguedCalls.has(id)) events.push({ type: 'call-args', callId: id, delta: JSON.stringify(args) });
    }
    for (const callId of answer.openCalls) events.push({ type: 'call-end', callId });
    answer.openCalls.clear();
    return events;
  }
}

function resultOf(message: ToolMessage): RunEvent {
  return {
    type: 'call-result',
    callId: message.tool_call_id,
    tool: message.name ?? '',
    messageId: message.id ?? '',
    content: textOf(message),
    isError: message.status === 'error',
    artifact: message.artifact as ToolArtifact | undefined,
  };
}

/** The LangGraph task that a piece belongs to; two model calls of one turn are two tasks. */
function taskOf(metadata: unknown): string {
  if (typeof metadata !== 'object' || metadata === null) return '';
  return 'langgraph_checkpoint_ns' in metadata ? String(metadata.langgraph_checkpoint_ns) : '';
}

/** An update is an object of node names with what each node wrote: one change or a list of changes. */
function messagesIn(update: unknown): BaseMessage[] {
  if (typeof update !== 'object' || update === null) return [];
  return Object.values(update)
    .flat()
    .flatMap((change: unknown) => {
      if (typeof change !== 'object' || change === null || !('messages' in change)) return [];
      return [change.messages].flat() as BaseMessage[];
    });
}
