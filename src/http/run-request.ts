import { z } from 'zod';
import { parseBody } from './json-body.js';
import { Problem } from './problem.js';

/** What is read of a run's body; history is the server's, so the rest is ignored (CONTRACT.md 7.4). */
export interface RunRequest {
  readonly threadId: string;
  readonly runId: string;
  readonly message: { readonly id: string; readonly text: string };
}

/** Names that a plain JavaScript object cannot hold as keys; stores refuse them as thread ids. */
const RESERVED_IDS = new Set(['__proto__', 'constructor', 'prototype']);

/** An id of a thread, run or message: 1 to 256 characters, no control characters (CONTRACT.md 14.4). */
export const idSchema = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'control characters are not allowed')
  .refine((id) => !RESERVED_IDS.has(id), 'this id is reserved');

/** The body of `POST /runs`, as far as it is read. */
export const runBodySchema = z.looseObject({ threadId: idSchema, runId: idSchema, messages: z.array(z.unknown()) });

const messageSchema = z.looseObject({ id: idSchema, content: z.union([z.string(), z.array(z.unknown())]) });

/** Reads the body of `POST /runs`. Throws a problem with status 422. */
export function readRunRequest(body: unknown): RunRequest {
  const { threadId, runId, messages } = parseBody(runBodySchema, body);
  const last = messages.findLast((message) => isObject(message) && message.role === 'user');
  if (last === undefined) throw new Problem(422, 'no_user_message', 'The messages hold none of the role "user".');
  const { id, content } = parseBody(messageSchema, last);
  const text = typeof content === 'string' ? content : textOfParts(content);
  if (text.trim() === '') throw new Problem(422, 'no_user_text', 'The last user message has no text.');
  return { threadId, runId, message: { id, text } };
}

function textOfParts(parts: readonly unknown[]): string {
  return parts.flatMap((part) => (isObject(part) && part.type === 'text' && typeof part.text === 'string' ? [part.text] : [])).join('\n');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
