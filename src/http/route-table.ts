import { z } from 'zod';
import {
  connectionsSchema,
  eventSchema,
  generationSchema,
  generationsSchema,
  heldSchema,
  livenessSchema,
  previewSchema,
  readinessSchema,
  refreshStatusSchema,
  roundSchema,
  threadSchema,
  turnsSchema,
  unreadySchema,
} from './answer-schemas.js';
import { feedEventSchema } from './event-schemas.js';
import { generationNumberSchema } from './generations.js';
import { drySchema, refreshBodySchema } from './refresh.js';
import { heldFingerprintSchema } from './review.js';
import type { RouteAnswer, RouteDescription, RouteParameter } from './route-description.js';
import { idSchema, runBodySchema } from './run-request.js';
import { turnsLimitSchema } from './turns.js';

const json = (description: string, schema: z.ZodType): RouteAnswer => ({ description, content: { 'application/json': schema } });

const HELD_FINGERPRINT: RouteParameter = {
  in: 'path',
  description: 'The fingerprint of the list that waits, as `GET /refresh` shows it.',
  schema: heldFingerprintSchema,
};

/** Every route of CONTRACT.md 9 that this build has. The router takes method, path, access and body from here, so that it cannot differ from the document. */
export const ROUTES = {
  liveness: {
    method: 'get',
    path: '/health/liveness',
    summary: 'Whether the process lives.',
    access: 'open',
    answers: { 200: json('It lives.', livenessSchema) },
  },
  readiness: {
    method: 'get',
    path: '/health/readiness',
    summary: 'Whether new runs are taken.',
    access: 'open',
    answers: { 200: json('Ready, perhaps without some toolsets.', readinessSchema), 503: json('Starting or stopping.', unreadySchema) },
  },
  run: {
    method: 'post',
    path: '/runs',
    summary: 'One turn of a conversation, as AG-UI 1.0 events. Of the messages only the last one of the user is read.',
    access: 'user',
    body: { presence: 'required', schema: runBodySchema },
    answers: {
      200: {
        description: 'Server-sent events; the `data:` field of each is one AG-UI event. `RUN_FINISHED` or `RUN_ERROR` is the last one.',
        content: { 'text/event-stream': eventSchema },
        headers: { 'x-agent-generation': 'The number of the generation that answers.' },
      },
    },
    problems: [409, 503],
  },
  thread: {
    method: 'get',
    path: '/threads/:id',
    summary: 'The messages of a thread.',
    access: 'user',
    parameters: { id: { in: 'path', description: "The thread's id.", schema: idSchema } },
    answers: { 200: json('The messages, oldest first.', threadSchema) },
    problems: [404, 503],
  },
  turns: {
    method: 'get',
    path: '/threads/:id/turns',
    summary: 'The last turns of a thread, each with the generation that answered it.',
    access: 'user',
    parameters: {
      id: { in: 'path', description: "The thread's id.", schema: idSchema },
      limit: { in: 'query', description: 'How many turns, counted from the newest; 50 unless given.', schema: turnsLimitSchema },
    },
    answers: { 200: json('The turns, newest last; `total` counts all.', turnsSchema) },
    problems: [404, 503],
  },
  connections: {
    method: 'get',
    path: '/connections',
    summary: 'What the model is shown, word for word, and which credentials are wanted.',
    access: 'user',
    answers: { 200: json('Toolsets, tools, and the tools that are withheld.', connectionsSchema) },
    problems: [503],
  },
  view: {
    method: 'get',
    path: '/views/:toolset/*view',
    summary: 'The page of a view that a tool of the toolset names, for a sandboxed frame.',
    access: 'user',
    parameters: {
      toolset: { in: 'path', description: "The toolset's name.", schema: z.string() },
      view: {
        in: 'path',
        description: 'What follows `ui://{toolset}/` in the URI of the view, or else what follows `ui://`, URI-encoded.',
        schema: z.string(),
      },
      hash: {
        in: 'query',
        description: 'The content of this hash, also when another one has replaced it since.',
        schema: z.string().optional(),
      },
    },
    answers: {
      200: {
        description: 'The page. Its policy opens what the view declares, and nothing of this origin.',
        content: { 'text/html': null },
        headers: { etag: 'The hash of the content.', 'content-security-policy': 'A sandbox, and what the view may load.' },
      },
      304: { description: 'The page is the one of `If-None-Match`.', content: {} },
    },
    problems: [404, 502, 503],
  },
  refreshStatus: {
    method: 'get',
    path: '/refresh',
    summary: "Every toolset's state, the last round, the live generation.",
    access: 'status',
    answers: { 200: json('The status. Toolset URLs and error texts are for those who may refresh.', refreshStatusSchema) },
    problems: [404],
  },
  refreshNow: {
    method: 'post',
    path: '/refresh',
    summary: 'Lists every toolset, or the one that the body names, and waits for the round.',
    access: 'refresh',
    parameters: { dry: { in: 'query', description: '`true` says what would change, and changes nothing.', schema: drySchema } },
    body: { presence: 'optional', schema: refreshBodySchema },
    answers: { 200: json("The round's record, whatever its outcome; dry, what it would do.", z.union([roundSchema, previewSchema])) },
    problems: [404],
  },
  refreshEvents: {
    method: 'get',
    path: '/refresh/events',
    summary: 'Everything that happens, as it happens (docs/events.md).',
    access: 'status',
    parameters: {
      lastEventId: {
        in: 'query',
        description:
          'Goes on after the event of this id, as the header `Last-Event-ID` does; an id that is not known brings all that is kept.',
        schema: z.string().optional(),
      },
    },
    answers: {
      200: {
        description: 'Server-sent events without end; the `data:` field of each is one event.',
        content: { 'text/event-stream': feedEventSchema },
      },
    },
    problems: [404],
  },
  heldChange: {
    method: 'get',
    path: '/refresh/held/:fingerprint',
    summary: 'The changes of this fingerprint that wait, with their differences.',
    access: 'admin',
    parameters: { fingerprint: HELD_FINGERPRINT },
    answers: { 200: json('Usually one change; several toolsets may offer the same.', heldSchema) },
    problems: [404],
  },
  approveChange: {
    method: 'post',
    path: '/refresh/held/:fingerprint/approve',
    summary: 'Approves a change that is held for review.',
    access: 'admin',
    parameters: { fingerprint: HELD_FINGERPRINT },
    answers: { 200: json('The record of the round that follows.', roundSchema) },
    problems: [404, 409, 503],
  },
  rejectChange: {
    method: 'post',
    path: '/refresh/held/:fingerprint/reject',
    summary: 'Rejects a change that is held for review; this fingerprint is not held again.',
    access: 'admin',
    parameters: { fingerprint: HELD_FINGERPRINT },
    answers: { 200: json('The record of the round that follows.', roundSchema) },
    problems: [404, 409, 503],
  },
  generations: {
    method: 'get',
    path: '/generations',
    summary: 'The last 50 generations of all replicas, newest first, and the last decisions about held changes.',
    access: 'user',
    answers: { 200: json('When, why, and what changed, by the names that the model sees.', generationsSchema) },
    problems: [404, 503],
  },
  generation: {
    method: 'get',
    path: '/generations/:number',
    summary: 'One generation with the whole definitions of the tools that it changed, before and after.',
    access: 'user',
    parameters: { number: { in: 'path', description: "The generation's number.", schema: generationNumberSchema } },
    answers: { 200: json('In diffs, hidden characters are written as their code points, `⟨U+200B⟩` for example.', generationSchema) },
    problems: [404, 503],
  },
  metrics: {
    method: 'get',
    path: '/metrics',
    summary: 'Metrics in the text format of Prometheus.',
    access: 'user',
    answers: { 200: { description: 'The metrics.', content: { 'text/plain': null } } },
  },
  openapi: {
    method: 'get',
    path: '/openapi.json',
    summary: 'This document.',
    access: 'user',
    answers: { 200: json('An OpenAPI document.', z.looseObject({ openapi: z.literal('3.1.0') })) },
  },
} as const satisfies Record<string, RouteDescription>;

export type RouteName = keyof typeof ROUTES;
