import type { Message } from '@ag-ui/core';

/** A view that a tool's result is shown in (CONTRACT.md 8.4). */
export interface ShownView {
  readonly toolCallId: string;
  readonly toolset: string;
  readonly tool: string;
  readonly uri: string;
  readonly hash: string | null;
  readonly structuredContent: Readonly<Record<string, unknown>> | null;
}

/** One piece of an answer, in the order in which it was given. */
export type Piece =
  | { readonly kind: 'text'; readonly id: string; readonly text: string }
  | {
      readonly kind: 'call';
      readonly id: string;
      readonly tool: string;
      /** JSON; while it streams, the beginning of it. */
      readonly args: string;
      readonly result: string | null;
      readonly view: ShownView | null;
    };

/** How a run stands. */
export type RunState =
  | { readonly kind: 'running' }
  | { readonly kind: 'finished' }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string };

/** What is known of the run that answers a question. */
export interface RunFacts {
  readonly state: RunState;
  /** The generation that answers; unknown before the run has started. */
  readonly generation: number | null;
  readonly fingerprint: string | null;
}

/** A question with its answer. */
export interface Turn {
  readonly id: string;
  readonly question: string;
  readonly pieces: readonly Piece[];
  readonly run: RunFacts;
}

const UNKNOWN_RUN: RunFacts = { state: { kind: 'finished' }, generation: null, fingerprint: null };

/** Arranges the messages of a thread into turns. Messages before the first question are left out. */
export function turnsOf(messages: readonly Message[], runs: ReadonlyMap<string, RunFacts>): Turn[] {
  const turns: { id: string; question: string; answer: Message[] }[] = [];
  for (const message of messages) {
    if (message.role === 'user') turns.push({ id: message.id, question: textOf(message.content), answer: [] });
    else turns.at(-1)?.answer.push(message);
  }
  return turns.map(({ id, question, answer }) => ({ id, question, pieces: piecesOf(answer), run: runs.get(id) ?? UNKNOWN_RUN }));
}

function piecesOf(answer: readonly Message[]): Piece[] {
  const results = new Map<string, string>();
  const views = new Map<string, ShownView>();
  for (const message of answer) {
    if (message.role === 'tool') results.set(message.toolCallId, textOf(message.content));
    if (message.role !== 'activity' || message.activityType !== 'mcp.view') continue;
    const view = message.content as unknown as ShownView;
    views.set(view.toolCallId, view);
  }
  return answer.flatMap((message): Piece[] => {
    if (message.role !== 'assistant') return [];
    const text = textOf(message.content);
    const calls = (message.toolCalls ?? []).map(
      (call): Piece => ({
        kind: 'call',
        id: call.id,
        tool: call.function.name,
        args: call.function.arguments,
        result: results.get(call.id) ?? null,
        view: views.get(call.id) ?? null,
      }),
    );
    return text === '' ? calls : [{ kind: 'text', id: message.id, text }, ...calls];
  });
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => (typeof part?.text === 'string' ? part.text : '')).join('');
}
