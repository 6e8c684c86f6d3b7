import { z } from 'zod';
import { classesSchema, roundSchema, toolsetSchema } from './answer-schemas.js';

const fingerprint = z.string().regex(/^sha256-[0-9a-f]{64}$/);
const hash = z.string();
const number = z.int().min(1);
const state = toolsetSchema.shape.state;

const base = {
  /** Rising within one process; the same as the `id:` field of the stream. */
  id: z.string(),
  at: z.iso.datetime(),
};

/** What `GET /refresh/events` sends in its `data:` fields, by the `event:` field (CONTRACT.md 9, 2.8). docs/events.md is held to these schemas by a test. */
export const FEED_EVENTS = {
  round: roundSchema.extend({ ...base, type: z.literal('round') }),
  generation: z.strictObject({
    ...base,
    type: z.literal('generation'),
    number,
    fingerprint,
    previous: number.nullable(),
    trigger: roundSchema.shape.trigger,
    swapped: z.array(z.string()),
    changes: roundSchema.shape.changes,
  }),
  toolset: z.strictObject({
    ...base,
    type: z.literal('toolset'),
    toolset: z.string(),
    from: state.nullable(),
    to: state,
    code: z.string().nullable(),
  }),
  missed: z.strictObject({ ...base, type: z.literal('missed'), toolset: z.string(), missedSignals: number }),
  held: z.strictObject({
    ...base,
    type: z.literal('held'),
    toolset: z.string(),
    fingerprint,
    reason: z.enum(['empty', 'flapping', 'rejected', 'review']),
    classes: classesSchema,
  }),
  decision: z.strictObject({
    ...base,
    type: z.literal('decision'),
    toolset: z.string(),
    fingerprint,
    decision: z.enum(['approved', 'rejected']),
  }),
  view: z.strictObject({ ...base, type: z.literal('view'), toolset: z.string(), uri: z.string(), from: hash, to: hash }),
  index: z.strictObject({ ...base, type: z.literal('index'), code: z.string().nullable() }),
  released: z.strictObject({ ...base, type: z.literal('released'), generation: number }),
} as const;

/** Any event of the feed. */
export const feedEventSchema = z.discriminatedUnion('type', [
  FEED_EVENTS.round,
  FEED_EVENTS.generation,
  FEED_EVENTS.toolset,
  FEED_EVENTS.missed,
  FEED_EVENTS.held,
  FEED_EVENTS.decision,
  FEED_EVENTS.view,
  FEED_EVENTS.index,
  FEED_EVENTS.released,
]);

type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Frozen<T[Key]> }
    : T;

export type FeedEvent = Frozen<z.infer<typeof feedEventSchema>>;
