import type { z } from 'zod';

/**
 * Who may use a route (CONTRACT.md 9.1). `open`: everybody. `user`: whoever may use the API. `status`: also a toolset's token.
 * `refresh`: administrators, and a toolset's token for that toolset. `admin`: administrators.
 */
export type Access = 'open' | 'user' | 'status' | 'refresh' | 'admin';

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

/** The statuses of all problems that a route may answer with. */
export function problemStatuses(route: RouteDescription): number[] {
  const statuses = new Set(route.problems);
  if (route.access !== 'open') for (const status of [401, 403]) statuses.add(status);
  if (route.body !== undefined) for (const status of [400, 413, 415, 422]) statuses.add(status);
  if (route.parameters !== undefined) statuses.add(422);
  statuses.add(500);
  return [...statuses].filter((status) => route.answers[status] === undefined).sort((a, b) => a - b);
}
