import type { RunFailure } from '../agent/stream-run.js';
import type { RunEnded } from './open-runs.js';

/**
 * The codes in the answers of the HTTP API that are no success, in the order in which docs/errors.md lists them; `npm run docs:errors` writes
 * that page. `status` is the HTTP status that they come with.
 */
export const PROBLEM_CODES = {
  malformed_json: { status: 400, when: 'The body is not valid JSON.' },
  bad_request: { status: '4xx', when: 'The request cannot be read for another reason.' },
  unauthorized: { status: 401, when: 'A token is needed, or the one that was sent is not known: `Authorization: Bearer …`.' },
  forbidden: { status: 403, when: 'The token may not do this, or the variable that would allow it is not set; `detail` names it.' },
  not_found: { status: 404, when: 'There is no such route or file.' },
  not_available: {
    status: 404,
    when: 'The host keeps its agent current itself, so there is no refresh to show or to ask for; or it keeps no history.',
  },
  unknown_toolset: { status: 404, when: 'The index names no such toolset.' },
  unknown_thread: { status: 404, when: 'There is no such thread.' },
  unknown_view: { status: 404, when: 'No tool of this toolset names such a view, or its content of this `?hash=` is no longer kept.' },
  unknown_generation: { status: 404, when: 'There is no generation of this number, or its record is no longer kept.' },
  unknown_change: { status: 404, when: 'No change of this fingerprint waits, and none did.' },
  change_superseded: { status: 409, when: 'The change waits no more: it was decided, taken back, or replaced by a newer one.' },
  run_in_progress: { status: 409, when: 'Another run streams on this thread.' },
  body_too_large: { status: 413, when: 'The body is larger than 10 MiB.' },
  unsupported_media_type: { status: 415, when: 'The body is not `application/json`.' },
  unsupported_encoding: { status: 415, when: 'The charset or encoding of the body is not supported.' },
  invalid_request: { status: 422, when: 'The body or a parameter lacks something; `detail` says what.' },
  no_user_message: { status: 422, when: 'No message of the body has the role `user`.' },
  no_user_text: { status: 422, when: 'The last message of the user has no text.' },
  internal_error: { status: 500, when: 'A mistake in the service; the log has a line `request failed`.' },
  not_ready: { status: 503, when: 'The first agent is not built yet.' },
  store_unavailable: {
    status: 503,
    when: 'The store of `MCP_AGENT_CHECKPOINT` cannot be reached, so no turn can be kept. Refreshing goes on, and runs work again when the store does.',
  },
  too_many_runs: { status: 503, when: '`MCP_AGENT_API_MAX_RUNS` runs stream now.' },
  shutting_down: { status: 503, when: 'The service is stopping.' },
} as const satisfies Record<string, { readonly status: number | '4xx'; readonly when: string }>;

export type ProblemCode = keyof typeof PROBLEM_CODES;

/** The codes in `RUN_ERROR` events, and when a run ends with each. */
export const RUN_ERROR_CODES = {
  model_failed: 'The provider answered with an error or not at all.',
  recursion_limit: 'The model called tools 100 steps long without an answer.',
  run_timeout: 'The run took longer than `MCP_AGENT_API_RUN_SECONDS`.',
  client_gone: 'The client closed the connection (only in the log: nobody is there to be told).',
  shutting_down: 'The service stopped before the run had ended.',
  store_unavailable: 'The store could not be reached any more during the run. What was kept of the thread stays; the next turn repairs it.',
  store_full: 'The disk of the store is full. The thread can still be read; make room, or set `MCP_AGENT_THREAD_DAYS`.',
  lock_lost: "The connection that held the thread's lock was lost, and another replica took the thread before it was back.",
  run_failed: 'Any other error; the log has a line `run failed`.',
} as const satisfies Record<RunFailure['code'] | RunEnded['code'], string>;
