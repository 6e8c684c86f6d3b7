import { type Request, Router } from 'express';
import type { AgentOfGeneration } from '../agent/build-agent.js';
import { RunLocks } from '../agent/run-lock.js';
import type { Clock, LiveAgents, Logger } from '../core/ports.js';
import { systemClock } from '../system-clock.js';
import { agentSource } from './agent-source.js';
import { Callers, type Tokens } from './caller.js';
import { connectionsRoute } from './connections.js';
import { cors } from './cors.js';
import { type CredentialLookup, headerLookup } from './credentials.js';
import { livenessRoute, readinessRoute } from './health.js';
import { jsonBody } from './json-body.js';
import { OpenRuns } from './open-runs.js';
import { problemHandler } from './problem.js';
import { refreshNowRoute, refreshStatusRoute, refuseStrangers } from './refresh.js';
import { type AroundRun, runsRoute } from './runs.js';
import { threadRoute } from './threads.js';

export interface RouterOptions {
  /** Says whether a request comes from an administrator, where the host knows its users itself. */
  readonly isAdmin?: (req: Request) => boolean;
  /** Bearer tokens (CONTRACT.md 9.1). */
  readonly tokens?: Tokens;
  /** Finds a user's value for a declared credential header; the request's header of that name unless given. */
  readonly credentials?: CredentialLookup;
  /** Where `GET /connections` looks whether a credential has a fallback; empty unless given. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Wraps each run while it streams (CONTRACT.md 12.4). */
  readonly aroundRun?: AroundRun;
  readonly limits?: {
    /** How long a run may take, in seconds; 900 unless given (CONTRACT.md 7.10). */
    readonly runSeconds?: number;
    /** How many runs may stream at once; 100 unless given. Without effect where `openRuns` is given. */
    readonly maxRuns?: number;
  };
  /** The running runs, for a host that wants to end them when it stops (CONTRACT.md 11.3). */
  readonly openRuns?: OpenRuns;
  /** Origins whose pages may use the API; none unless given. */
  readonly corsOrigins?: readonly string[];
  readonly logger?: Logger;
  readonly clock?: Clock;
}

const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/**
 * The routes of CONTRACT.md 9 as an Express router, for the service and for a host's own application. Takes whoever keeps the agent current, or
 * a function that returns the current agent and undefined before there is one (CONTRACT.md 12.2).
 */
export function createRouter(
  live: LiveAgents<AgentOfGeneration> | (() => AgentOfGeneration | undefined),
  options: RouterOptions = {},
): Router {
  const { logger = silent, clock = systemClock, environment = {}, limits = {} } = options;
  const source = agentSource(live, clock);
  const callers = new Callers(options.tokens ?? {}, options.isAdmin);
  const locks = new RunLocks(clock);
  const openRuns = options.openRuns ?? new OpenRuns({ clock, maxRuns: limits.maxRuns });
  const lookup = options.credentials ?? headerLookup(callers);
  const aroundRun: AroundRun = options.aroundRun ?? ((_info, run) => run());

  const router = Router();
  router.use(cors(options.corsOrigins ?? [], source));
  router.get('/health/liveness', livenessRoute);
  router.get('/health/readiness', readinessRoute(source, openRuns));
  router.post(
    '/runs',
    callers.guard('all'),
    jsonBody('required'),
    runsRoute({ source, locks, openRuns, lookup, aroundRun, runSeconds: limits.runSeconds ?? 900, clock, logger }),
  );
  router.get('/threads/:id', callers.guard('all'), threadRoute(source, locks));
  router.get('/connections', callers.guard('all'), connectionsRoute({ source, lookup, environment }));
  router.get('/refresh', callers.guard('refresh'), refreshStatusRoute(source, callers));
  router.post('/refresh', callers.guard('refresh'), refuseStrangers(callers), jsonBody('optional'), refreshNowRoute(source, callers));
  router.use(problemHandler(logger));
  return router;
}
