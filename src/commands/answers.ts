import { z } from 'zod';

/**
 * What the commands read of a service's answers, and no more: a service of another version may say more, and fields that only matter in
 * print fall back to nothing.
 */

const names = z.array(z.string()).default([]);
const changes = z.looseObject({ added: names, removed: names, changed: names }).default({ added: [], removed: [], changed: [] });
const error = z
  .looseObject({ code: z.string(), toolset: z.string().optional(), message: z.string().optional(), url: z.string().optional() })
  .nullish();

export const roundSchema = z.looseObject({
  round: z.number(),
  outcome: z.string(),
  trigger: z.string(),
  durationMs: z.number(),
  generation: z.number(),
  toolsets: z.looseObject({ listed: names, swapped: names, held: names, late: names, failing: names }),
  changes,
  error,
});

export type Round = z.infer<typeof roundSchema>;

export const statusSchema = z.looseObject({
  instance: z.string(),
  generation: z.number(),
  fingerprint: z.string().nullable(),
  replicas: z.array(z.looseObject({ instance: z.string(), generation: z.number(), fingerprint: z.string().nullable() })).default([]),
  index: z.looseObject({ error }).nullish(),
  toolsets: z.array(
    z.looseObject({
      name: z.string(),
      state: z.string(),
      protocol: z.string().nullish(),
      tools: z.number(),
      fingerprint: z.string().nullable(),
      listedAt: z.string().nullish(),
      nextListAt: z.string().nullish(),
      notifiedAt: z.string().nullish(),
      retryAt: z.string().nullish(),
      held: z.looseObject({ reason: z.string(), fingerprint: z.string() }).nullish(),
      error,
    }),
  ),
});

export type Status = z.infer<typeof statusSchema>;

export const dryRunSchema = z.looseObject({
  outcome: z.string(),
  toolsets: z.array(
    z.looseObject({
      name: z.string(),
      outcome: z.string(),
      fingerprint: z.string().nullish(),
      classes: names,
      error,
    }),
  ),
  changes,
});

export type DryRun = z.infer<typeof dryRunSchema>;

export const problemSchema = z.looseObject({ detail: z.unknown(), code: z.string().optional() });

/** What every event of `GET /refresh/events` has. */
export const feedEventSchema = z.looseObject({ type: z.string(), at: z.string().optional() });

export type FeedEvent = z.infer<typeof feedEventSchema>;

/** The events by their type, with the fields that are printed. */
export const feedEventSchemas = {
  round: roundSchema,
  generation: z.looseObject({ number: z.number(), trigger: z.string(), changes }),
  toolset: z.looseObject({ toolset: z.string(), from: z.string().nullish(), to: z.string(), code: z.string().nullish() }),
  missed: z.looseObject({ toolset: z.string() }),
  held: z.looseObject({ toolset: z.string(), fingerprint: z.string(), reason: z.string(), classes: names }),
  decision: z.looseObject({ toolset: z.string(), fingerprint: z.string(), decision: z.string() }),
  view: z.looseObject({ toolset: z.string(), uri: z.string() }),
  index: z.looseObject({ code: z.string().nullish() }),
  released: z.looseObject({ generation: z.number() }),
} as const;

/** `GET /generations/{n}`: of each changed tool, what differs. */
export const generationSchema = z.looseObject({
  tools: z
    .array(
      z.looseObject({
        name: z.string(),
        toolset: z.string(),
        change: z.string(),
        classes: names,
        diff: z
          .array(z.looseObject({ field: z.string(), lines: z.array(z.looseObject({ kind: z.string(), text: z.string() })) }))
          .default([]),
      }),
    )
    .default([]),
});

export type GenerationDetail = z.infer<typeof generationSchema>;
