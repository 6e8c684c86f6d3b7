import type { Request, RequestHandler, Response } from 'express';
import type { AgentOfGeneration, TurnConfig } from '../agent/build-agent.js';
import { RunFailure, streamRun } from '../agent/stream-run.js';
import type { Generation } from '../core/generation.js';
import type { Clock, Logger, ViewSource } from '../core/ports.js';
import type { RunLocks } from '../core/run-lock.js';
import type { Turnstile } from '../turnstile.js';
import type { AgentSource } from './agent-source.js';
import { AguiEvents, encodeEvents, runError, runFinished, runStarted } from './agui-events.js';
import { type CredentialLookup, credentialsOfRun } from './credentials.js';
import { openEventStream } from './event-stream.js';
import { type OpenRun, type OpenRuns, RunEnded } from './open-runs.js';
import { notReady, Problem, problemOf } from './problem.js';
import { type RunRequest, readRunRequest } from './run-request.js';
import { viewActivity } from './view-activity.js';

/** A run, as a host sees it while it wraps it. */
export interface RunInfo {
  readonly threadId: string;
  readonly runId: string;
  readonly generation: number;
  readonly fingerprint: string;
  readonly req: Request;
}

/**
 * Wraps each run while it streams (CONTRACT.md 12.4): call `run` once, inside whatever context the run needs. `run` takes configuration for
 * this one run and rejects when the run fails; the client is told of the failure in any case.
 */
export type AroundRun = (info: RunInfo, run: (config?: TurnConfig) => Promise<void>) => Promise<void>;

export interface RunsDeps {
  readonly source: AgentSource;
  readonly locks: RunLocks;
  /** Rejects with a StoreFailure when threads cannot be kept at present. */
  readonly checkStore: () => Promise<void>;
  readonly openRuns: OpenRuns;
  /** Runs go on one at a time, one event each, so that a new request waits for one step of one run and not for a step of each. */
  readonly turnstile: Turnstile;
  readonly lookup: CredentialLookup;
  /** Undefined where a host serves no views. */
  readonly views: ViewSource | undefined;
  readonly aroundRun: AroundRun;
  readonly runSeconds: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told of every run when it is over: `finished`, or the code of its failure or of its refusal. */
  readonly onEnded: (outcome: RunOutcome) => void;
}

/** Why a valid request gets no stream. Requests that cannot be read are not runs, and are not among these. */
const REFUSALS = ['run_in_progress', 'not_ready', 'too_many_runs', 'shutting_down', 'store_unavailable', 'internal_error'] as const;

/** How a run ended. The words are few and fixed, so that they can be counted by. */
export type RunOutcome = 'finished' | RunEnded['code'] | RunFailure['code'] | (typeof REFUSALS)[number];

type Outcome = { readonly kind: 'unstarted' } | { readonly kind: 'finished' } | { readonly kind: 'failed'; readonly error: unknown };

/** `POST /runs`: one turn as a stream of AG-UI events (CONTRACT.md 7). */
export function runsRoute(deps: RunsDeps): RequestHandler {
  return async (req, res) => {
    const request = readRunRequest(req.body);
    try {
      await admitAndStream(res, { req, request, deps });
    } catch (error) {
      const { code } = problemOf(error);
      const refusal = REFUSALS.find((candidate) => candidate === code);
      if (refusal !== undefined) deps.onEnded(refusal);
      throw error;
    }
  };
}

async function admitAndStream(res: Response, { req, request, deps }: Pick<Streaming, 'req' | 'request' | 'deps'>): Promise<void> {
  const run = admit(deps.openRuns);
  const onClose = () => run.end(new RunEnded('client_gone', 'The client closed the connection.'));
  res.once('close', onClose);
  try {
    await deps.checkStore();
    await withLock(deps.locks, { threadId: request.threadId, run }, async () => {
      const lease = deps.source.lease();
      if (!lease) throw notReady();
      try {
        await streamTo(res, { req, request, run, generation: lease.generation, deps });
      } finally {
        lease.release();
      }
    });
  } finally {
    res.off('close', onClose);
    run.close();
  }
}

function admit(openRuns: OpenRuns): OpenRun {
  const admission = openRuns.admit();
  if (admission.kind === 'draining') throw new Problem(503, 'shutting_down', 'The service is shutting down.', { 'retry-after': '1' });
  if (admission.kind === 'full') throw new Problem(503, 'too_many_runs', 'Too many runs are streaming now.', { 'retry-after': '1' });
  return admission.run;
}

async function withLock(locks: RunLocks, { threadId, run }: { threadId: string; run: OpenRun }, work: () => Promise<void>): Promise<void> {
  const lock = await locks.take(threadId);
  if (!lock) throw new Problem(409, 'run_in_progress', { reason: 'run_in_progress' });
  if (run.signal.aborted) lock.markCancelling();
  run.signal.addEventListener('abort', lock.markCancelling, { once: true });
  const onLost = () => run.end(new RunEnded('lock_lost', 'Another process may run on this thread now.'));
  lock.lost.addEventListener('abort', onLost, { once: true });
  try {
    await work();
  } finally {
    lock.lost.removeEventListener('abort', onLost);
    lock.release();
  }
}

interface Streaming {
  readonly req: Request;
  readonly request: RunRequest;
  readonly run: OpenRun;
  readonly generation: Generation<AgentOfGeneration>;
  readonly deps: RunsDeps;
}

/** Streams the run to its last event. Whatever fails in it becomes `RUN_ERROR`; a stream never just ends (CONTRACT.md 7.2). */
async function streamTo(res: Response, { req, request, run, generation, deps }: Streaming): Promise<void> {
  const { clock, logger, turnstile } = deps;
  const cancelTimeout = clock.after(deps.runSeconds * 1000, () =>
    run.end(new RunEnded('run_timeout', `The run was stopped after ${deps.runSeconds} seconds.`)),
  );
  res.setHeader('x-agent-generation', String(generation.number));
  const stream = openEventStream(res, clock);
  const agui = new AguiEvents();
  const turn: { outcome: Outcome } = { outcome: { kind: 'unstarted' } };
  const runTurn = async (config?: TurnConfig) => {
    try {
      const context = { credentials: credentialsOfRun(req, generation.agent, deps.lookup) };
      const options = {
        agent: generation.agent,
        threadId: request.threadId,
        message: request.message,
        generation,
        context,
        signal: run.signal,
        config,
      };
      for await (const event of streamRun(options)) {
        await stream.send(encodeEvents([agui.translate(event)]), run.signal);
        const activity = await viewActivity(event, { views: deps.views, signal: run.signal });
        if (activity !== undefined) await stream.send(encodeEvents([activity]), run.signal);
        await turnstile.pass();
      }
      turn.outcome = { kind: 'finished' };
    } catch (error) {
      turn.outcome = { kind: 'failed', error };
      throw error;
    }
  };
  try {
    await stream.send(encodeEvents([runStarted(request, generation)]), run.signal);
    // Node sends what was written only when no microtask is left. Without a pause here, RUN_STARTED would leave after the whole start of the graph.
    await turnstile.pass();
    const info = {
      threadId: request.threadId,
      runId: request.runId,
      generation: generation.number,
      fingerprint: generation.fingerprint,
      req,
    };
    await deps.aroundRun(info, runTurn);
  } catch (error) {
    // The error ends here: the client is told below, and what a host's wrapper threw after the turn must not turn a finished run into a failed one.
    if (turn.outcome.kind === 'finished') logger.warn('run wrapper failed', { runId: request.runId, error: nameOf(error) });
    else turn.outcome = { kind: 'failed', error };
  } finally {
    cancelTimeout();
  }
  const last = lastEvents(turn.outcome, { request, agui });
  const fields = { runId: request.runId, generation: generation.number, ...last.failure };
  if (last.failure?.code === 'client_gone') logger.info('run cancelled', fields);
  else if (last.failure) logger.warn('run failed', fields);
  await stream.send(encodeEvents(last.events), run.signal);
  stream.end();
  deps.onEnded(last.failure?.code ?? 'finished');
}

function lastEvents(outcome: Outcome, { request, agui }: { request: RunRequest; agui: AguiEvents }) {
  if (outcome.kind === 'finished') return { events: [runFinished(request)], failure: undefined };
  const error = outcome.kind === 'failed' ? outcome.error : undefined;
  const isOwn = error instanceof RunEnded || error instanceof RunFailure;
  const code: RunOutcome = isOwn ? error.code : 'run_failed';
  const message = isOwn ? error.message : 'The run failed because of an internal error.';
  const cause = error instanceof RunFailure ? error.cause : error;
  return { events: [...agui.closing(), runError(code, message)], failure: { code, error: nameOf(cause), status: statusOf(cause) } };
}

/** Only the class of a foreign error is logged: providers quote keys and requests in their texts. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

function statusOf(error: unknown): number | undefined {
  return typeof error === 'object' && error !== null && 'status' in error && typeof error.status === 'number' ? error.status : undefined;
}
