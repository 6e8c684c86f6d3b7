import { EventSchemas, MessageSchema } from '@ag-ui/core/schemas';
import { z } from 'zod';

/** What the routes answer, as the document at `/openapi.json` describes it. Objects are closed, so that a test finds a field that nobody described. */

const names = z.array(z.string());
const instant = z.iso.datetime();
const fingerprint = z.string().regex(/^sha256-[0-9a-f]{64}$/);
const outcome = z.enum(['aborted', 'rejected', 'swapped', 'held', 'unchanged']);
const trigger = z.enum(['start', 'notification', 'reconnect', 'poll', 'index', 'manual', 'review', 'replica']);
const count = z.int().min(0);

/** Every answer that is no success (CONTRACT.md 9.1). */
export const problemSchema = z.strictObject({
  detail: z.union([z.string(), z.looseObject({})]),
  code: z.string(),
});

export const livenessSchema = z.strictObject({ status: z.literal('alive') });

export const readinessSchema = z.union([
  z.strictObject({ status: z.literal('ready') }),
  z.strictObject({ status: z.literal('degraded'), failing: names }),
]);

export const unreadySchema = problemSchema.extend({ status: z.enum(['starting', 'draining']) });

/** One AG-UI event; the stream of a run carries one in each `data:` field. */
export const eventSchema = EventSchemas;

export const messageSchema = MessageSchema;

export const threadSchema = z.strictObject({ threadId: z.string(), messages: z.array(messageSchema), running: z.boolean() });

export const turnsSchema = z.strictObject({
  threadId: z.string(),
  turns: count,
  total: count,
  history: z.array(
    z.strictObject({
      turn: z.int().min(1),
      question: z.string(),
      checkpointId: z.string().nullable(),
      generation: z.int().min(1).nullable(),
      fingerprint: fingerprint.nullable(),
    }),
  ),
});

export const connectionsSchema = z.strictObject({
  toolsets: z.array(
    z.strictObject({ name: z.string(), credentials: z.array(z.strictObject({ header: z.string(), supplied: z.boolean() })) }),
  ),
  tools: z.array(
    z.strictObject({
      name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
      toolset: z.string(),
      original: z.string(),
      description: z.string(),
      parameters: z.looseObject({ type: z.literal('object') }),
    }),
  ),
  withheld: z.array(z.strictObject({ toolset: z.string(), tool: z.string(), reason: z.string() })),
});

/** An error as it is shown; `message` and `url` are for administrators and the toolset's own token only. */
export const shownErrorSchema = z.strictObject({
  code: z.string(),
  toolset: z.string().optional(),
  message: z.string().optional(),
  url: z.string().optional(),
});

export const roundSchema = z.strictObject({
  round: count,
  outcome,
  trigger,
  at: instant,
  durationMs: z.number().min(0),
  generation: count,
  toolsets: z.strictObject({ listed: names, swapped: names, held: names, late: names, failing: names }),
  changes: z.strictObject({ added: names, removed: names, changed: names }),
  error: shownErrorSchema.nullable(),
});

/** What a change is about (CONTRACT.md 15.1). */
export const classesSchema = z.array(
  z.enum(['added', 'text', 'parameters', 'output', 'annotations', 'view', 'instructions', 'credentials']),
);

const changes = roundSchema.shape.changes;
const raw = z.looseObject({ name: z.string() });

const diff = z.array(
  z.strictObject({
    field: z.string(),
    lines: z.array(z.strictObject({ kind: z.enum(['same', 'removed', 'added', 'skipped']), text: z.string() })),
  }),
);

const toolReport = z.strictObject({
  name: z.string(),
  toolset: z.string(),
  change: z.enum(['added', 'removed', 'changed']),
  before: raw.nullable(),
  after: raw.nullable(),
  classes: classesSchema,
  diff,
});

const generationLine = z.strictObject({
  number: z.int().min(1),
  at: instant,
  trigger,
  fingerprint,
  instance: z.string(),
  swapped: names,
  changes,
});

export const generationsSchema = z.strictObject({
  generations: z.array(generationLine),
  decisions: z.array(z.strictObject({ toolset: z.string(), fingerprint, decision: z.enum(['approved', 'rejected']), at: instant })),
});

/** One generation with the whole definitions of each changed tool. */
export const generationSchema = generationLine.extend({
  toolsets: z.array(z.strictObject({ name: z.string(), fingerprint, tools: count })),
  tools: z.array(toolReport),
  omitted: count,
});

const holdReason = z.enum(['empty', 'flapping', 'rejected', 'review']);

/** The changes that wait and have one fingerprint, each with its differences. */
export const heldSchema = z.strictObject({
  held: z.array(
    z.strictObject({
      toolset: z.string(),
      reason: holdReason,
      fingerprint,
      since: instant,
      classes: classesSchema,
      changes,
      tools: z.array(toolReport),
      omitted: count,
      instructions: diff,
      credentials: z.strictObject({ before: names, after: names }),
    }),
  ),
});

const previewOutcome = z.enum(['failed', 'would-reject', 'would-swap', 'would-hold', 'unchanged']);

/** What a refresh would do. */
export const previewSchema = z.strictObject({
  outcome: previewOutcome,
  toolsets: z.array(
    z.strictObject({
      name: z.string(),
      outcome: previewOutcome,
      fingerprint: fingerprint.nullable(),
      classes: classesSchema,
      changes,
      error: shownErrorSchema.nullable(),
    }),
  ),
  changes,
});

export const toolsetSchema = z.strictObject({
  name: z.string(),
  url: z.string().optional(),
  state: z.enum(['connecting', 'watching', 'polling', 'failing', 'closed']),
  protocol: z.string().nullable(),
  server: z.strictObject({ name: z.string(), version: z.string() }).nullable(),
  tools: count,
  hiddenCharacters: count,
  fingerprint: fingerprint.nullable(),
  listedAt: instant.nullable(),
  nextListAt: instant.nullable(),
  notifiedAt: instant.nullable(),
  missedSignals: count,
  flapping: z.boolean(),
  held: z.strictObject({ reason: holdReason, fingerprint, since: instant, classes: classesSchema }).nullable(),
  failures: count,
  error: shownErrorSchema.nullable(),
  retryAt: instant.nullable(),
});

export const refreshStatusSchema = z.strictObject({
  instance: z.string(),
  generation: count,
  fingerprint: fingerprint.nullable(),
  builtAt: instant.nullable(),
  everySeconds: z.number().min(0),
  nextPollAt: instant.nullable(),
  rounds: z.strictObject({ aborted: count, rejected: count, swapped: count, held: count, unchanged: count }),
  last: roundSchema.nullable(),
  draining: z.array(z.strictObject({ generation: count, runs: count, since: instant })),
  replicas: z.array(z.strictObject({ instance: z.string(), generation: count, fingerprint: fingerprint.nullable(), at: instant })),
  replicasDifferSince: instant.nullable(),
  toolsets: z.array(toolsetSchema),
  index: z.strictObject({ error: shownErrorSchema.nullable(), readAt: instant.nullable() }),
});
