import { type BaseEvent, EventType } from '@ag-ui/core';
import { EventEncoder } from '@ag-ui/encoder';
import type { RunEvent } from '../agent/run-event.js';

const encoder = new EventEncoder();

/** AG-UI events as the text of an event stream. */
export function encodeEvents(events: readonly BaseEvent[]): string {
  return events.map((event) => encoder.encodeSSE(event)).join('');
}

/** The first event of every run; its metadata names the generation that the run keeps to its end (CONTRACT.md 7.2). */
export function runStarted(run: { threadId: string; runId: string }, generation: { number: number; fingerprint: string }): BaseEvent {
  const metadata = { generation: generation.number, fingerprint: generation.fingerprint };
  return { type: EventType.RUN_STARTED, threadId: run.threadId, runId: run.runId, metadata };
}

export function runFinished(run: { threadId: string; runId: string }): BaseEvent {
  return { type: EventType.RUN_FINISHED, threadId: run.threadId, runId: run.runId };
}

export function runError(code: string, message: string): BaseEvent {
  return { type: EventType.RUN_ERROR, code, message };
}

/** Writes run events as AG-UI 1.0 events and remembers what is open, so that a run that fails can close it. */
export class AguiEvents {
  readonly #openTexts = new Set<string>();
  readonly #openCalls = new Set<string>();

  translate(event: RunEvent): BaseEvent {
    switch (event.type) {
      case 'text-start':
        this.#openTexts.add(event.messageId);
        return { type: EventType.TEXT_MESSAGE_START, messageId: event.messageId, role: 'assistant' };
      case 'text-delta':
        return { type: EventType.TEXT_MESSAGE_CONTENT, messageId: event.messageId, delta: event.delta };
      case 'text-end':
        this.#openTexts.delete(event.messageId);
        return { type: EventType.TEXT_MESSAGE_END, messageId: event.messageId };
      case 'call-start':
        this.#openCalls.add(event.callId);
        return { type: EventType.TOOL_CALL_START, toolCallId: event.callId, toolCallName: event.tool, parentMessageId: event.messageId };
      case 'call-args':
        return { type: EventType.TOOL_CALL_ARGS, toolCallId: event.callId, delta: event.delta };
      case 'call-end':
        this.#openCalls.delete(event.callId);
        return { type: EventType.TOOL_CALL_END, toolCallId: event.callId };
      case 'call-result':
        return {
          type: EventType.TOOL_CALL_RESULT,
          messageId: event.messageId,
          toolCallId: event.callId,
          content: event.content,
          role: 'tool',
        };
      case 'messages':
        return { type: EventType.MESSAGES_SNAPSHOT, messages: event.messages };
    }
  }

  /** The ends of everything that was started and not ended. */
  closing(): BaseEvent[] {
    return [
      ...[...this.#openTexts].map((messageId) => ({ type: EventType.TEXT_MESSAGE_END, messageId })),
      ...[...this.#openCalls].map((toolCallId) => ({ type: EventType.TOOL_CALL_END, toolCallId })),
    ];
  }
}
