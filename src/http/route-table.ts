import { z } from 'zod';
import {
  connectionsSchema,
  eventSchema,
  livenessSchema,
  readinessSchema,
  refreshStatusSchema,
  roundSchema,
  threadSchema,
  turnsSchema,
  unreadySchema,
} from './answer-schemas.js';
import { refreshBodySchema } from './refresh.js';
import { idSchema, runBodySchema } from './run-request.js';
import { turnsLimitSchema } from './turns.js';

/**
 * Who may use a route (CONTRACT.md 9.1). `open`: everybody. `user`: whoever may use the API. `status`: also a toolset's token.
 * `refresh`: administrators, and a toolset's token for that toolset.
 */
export type Access = 'open' | 'user' | 'status' | 'refresh';

export interface RouteAnswer {
  readonly description: string;
  /** The body by its media type; a schema of null is any text. */
  readonly content: Readonly<Record<string, z.ZodType | null>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface RouteParameter {
  readonly in: 'path' | 'query';
  readonly description: string;
  readonly schema: z.ZodType;
}

/** One route, as the router serves it and as the document at `/openapi.json` describes it. */
export interface RouteDescription {
  readonly method: 'get' | 'post';
  /** As Express takes it: `:name` is one segment, `*name` the rest of the path. */
  readonly path: string;
  readonly summary: string;
  readonly access: Access;
  readonly parameters?: Readonly<Record<string, RouteParameter>>;
  readonly body?: { readonly presence: 'required' | 'optional'; readonly schema: z.ZodType };
  readonly answers: Readonly<Record<number, RouteAnswer>>;
  /** The statuses that are answered with `{detail, code}`, besides those that follow from `access`, `body` and `parameters`. */
  readonly problems?: readonly number[];
}

const json = (description: string, schema: z.ZodType): RouteAnswer => ({ description, content: { 'application/json': schema } });

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
    body: { presence: 'optional', schema: refreshBodySchema },
    answers: { 200: json("The round's record, whatever its outcome.", roundSchema) },
    problems: [404],
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

/** The statuses of all problems that a route may answer with. */
export function problemStatuses(route: RouteDescription): number[] {
  const statuses = new Set(route.problems);
  if (route.access !== 'open') for (const status of [401, 403]) statuses.add(status);
  if (route.body !== undefined) for (const status of [400, 413, 415, 422]) statuses.add(status);
  if (route.parameters !== undefined) statuses.add(422);
  statuses.add(500);
  return [...statuses].filter((status) => route.answers[status] === undefined).sort((a, b) => a - b);
}
