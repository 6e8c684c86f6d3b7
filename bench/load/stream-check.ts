import { ANSWER, ARGUMENT_PIECES, type TurnKind } from '../model/answers.js';
import type { RunTarget } from './target.js';

/** Reads one run's stream and says what is missing in it. */
export interface StreamCheck {
  /** Takes one event; true when it is the one that a client waits for first. */
  take(event: string | undefined, data: string): boolean;
  /** Why the stream is not whole, or undefined. */
  fault(): string | undefined;
  /** The generation that the run named, where it names one. */
  readonly generation: number | undefined;
}

export function checkOf(form: RunTarget['form'], turn: TurnKind): StreamCheck {
  return form === 'ag-ui' ? agUiCheck(turn) : langGraphCheck(turn);
}

interface AgUiEvent {
  readonly type: string;
  readonly delta?: string;
  readonly content?: string;
  readonly message?: string;
  readonly metadata?: { readonly generation?: number };
}

function agUiCheck(turn: TurnKind): StreamCheck {
  let first = '';
  let last = '';
  let text = '';
  let args = '';
  let result = '';
  let error = '';
  const check = { generation: undefined as number | undefined };
  return Object.assign(check, {
    take(_event: string | undefined, data: string) {
      const event = JSON.parse(data) as AgUiEvent;
      if (first === '') first = event.type;
      last = event.type;
      if (event.type === 'TEXT_MESSAGE_CONTENT' || event.type === 'TEXT_MESSAGE_CHUNK') text += event.delta ?? '';
      else if (event.type === 'TOOL_CALL_ARGS' || event.type === 'TOOL_CALL_CHUNK') args += event.delta ?? '';
      else if (event.type === 'TOOL_CALL_RESULT') result += event.content ?? '';
      else if (event.type === 'RUN_ERROR') error = event.message ?? 'no message';
      else if (event.type === 'RUN_STARTED') check.generation = event.metadata?.generation;
      return event.type === 'RUN_STARTED';
    },
    fault() {
      if (error !== '') return `It failed: ${error}`;
      if (first !== 'RUN_STARTED') return `Its first event is ${first || 'missing'}.`;
      if (last !== 'RUN_FINISHED') return `Its last event is ${last}.`;
      return faultOfTurn(turn, { text, args, result });
    },
  });
}

interface Piece {
  readonly type?: string;
  readonly content?: unknown;
  readonly tool_call_chunks?: readonly { readonly args?: string }[];
}

function langGraphCheck(turn: TurnKind): StreamCheck {
  let first = '';
  let text = '';
  let args = '';
  let result = '';
  let error = '';
  return {
    generation: undefined,
    take(event, data) {
      if (first === '') first = event ?? 'unnamed';
      if (event === 'error') error = data;
      if (event === 'messages') {
        const [piece] = JSON.parse(data) as [Piece];
        if (piece.type === 'tool') result += String(piece.content);
        else {
          if (typeof piece.content === 'string') text += piece.content;
          for (const call of piece.tool_call_chunks ?? []) args += call.args ?? '';
        }
      }
      return event === 'metadata';
    },
    fault() {
      if (error !== '') return `It failed: ${error}`;
      if (first !== 'metadata') return `Its first event is ${first || 'missing'}.`;
      return faultOfTurn(turn, { text, args, result });
    },
  };
}

function faultOfTurn(turn: TurnKind, { text, args, result }: { text: string; args: string; result: string }): string | undefined {
  if (text !== ANSWER) return `Its answer is ${JSON.stringify(text)}.`;
  if (turn === 'plain') return undefined;
  if (args !== ARGUMENT_PIECES.join('')) return `The arguments of its call are ${JSON.stringify(args)}.`;
  return result.includes('open invoices') ? undefined : `The result of its call is ${JSON.stringify(result)}.`;
}
