import { stampOf } from '../fleet/tools.js';

/** What the model says in a turn: it calls a tool and then answers, or it answers at once. */
export type TurnKind = 'tool' | 'plain';

/** A user message with these words makes the model call the first tool of a toolset of the fleet; some contestants bring tools of their own. */
export const CALL_A_TOOL = 'Look it up:';

/** The arguments of the tool call, in the pieces in which they are streamed. */
export const ARGUMENT_PIECES = ['{"query":', '"open invoices",', '"limit":3}'] as const;

const TOKENS = 'I looked into the documents and found three open invoices : two of them are due this week , one is late'.split(' ');

/** The answer, in the pieces in which it is streamed: about twenty, like a short answer of a real model. */
export const ANSWER_PIECES: readonly string[] = TOKENS.map((token, number) => (number === 0 ? token : ` ${token}`));

export const ANSWER = ANSWER_PIECES.join('');

interface Asked {
  readonly model?: string;
  readonly stream?: boolean;
  readonly messages: readonly {
    readonly role: string;
    readonly content?: unknown;
    readonly tool_calls?: readonly { readonly id: string }[];
  }[];
  readonly tools?: readonly { readonly function: { readonly name: string; readonly description?: string } }[];
}

export interface Reply {
  /** The JSON of each piece of the stream, in order. */
  readonly pieces: readonly string[];
  /** False where the answer to a tool call was asked for with another revision of the tools than the call itself. */
  readonly sameTools: boolean;
}

/** Answers a streamed chat completion. `number` is different for each request, because clients make the answer's id the message's. */
export function replyTo(asked: Asked, number: number): Reply {
  const last = asked.messages.at(-1);
  const { name, revision } = stampedTool(asked);
  if (last?.role === 'user' && name !== undefined && textOf(last.content).includes(CALL_A_TOOL)) {
    const id = `call_${number}_revision_${revision}`;
    const call = { index: 0, id, type: 'function', function: { name, arguments: '' } };
    const deltas = [
      { role: 'assistant', content: null, tool_calls: [call] },
      ...ARGUMENT_PIECES.map((piece) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
    ];
    return { pieces: chunks(deltas, { number, finish: 'tool_calls' }), sameTools: true };
  }
  const deltas = [{ role: 'assistant', content: '' }, ...ANSWER_PIECES.map((content) => ({ content }))];
  const called = asked.messages.findLast(({ tool_calls }) => tool_calls?.[0] !== undefined)?.tool_calls?.[0]?.id;
  const sameTools = called === undefined || !called.includes('_revision_') || called.endsWith(`_revision_${revision}`);
  return { pieces: chunks(deltas, { number, finish: 'stop' }), sameTools };
}

function chunks(deltas: readonly object[], { number, finish }: { number: number; finish: string }): string[] {
  const envelope = { id: `chatcmpl-${number}`, object: 'chat.completion.chunk', created: 1_767_225_600, model: 'bench' };
  const piece = (delta: object, reason: string | null) =>
    JSON.stringify({ ...envelope, choices: [{ index: 0, delta, finish_reason: reason }] });
  return [
    ...deltas.map((delta) => piece(delta, null)),
    piece({}, finish),
    JSON.stringify({ ...envelope, choices: [], usage: { prompt_tokens: 1, completion_tokens: 20, total_tokens: 21 } }),
  ];
}

/** The first tool whose description carries the fleet's stamp, and the revision that it names. */
function stampedTool(asked: Asked): { name: string | undefined; revision: string } {
  for (const { function: tool } of asked.tools ?? []) {
    const stamp = stampOf(tool.description);
    if (stamp !== undefined) return { name: tool.name, revision: String(stamp.revision) };
  }
  return { name: undefined, revision: 'none' };
}

function textOf(content: unknown): string {
  return typeof content === 'string' ? content : JSON.stringify(content ?? '');
}
