import { type Request, type RequestHandler, Router } from 'express';
import type { AgentOfGeneration } from '../agent/build-agent.js';
import { LocalRunLocks } from '../agent/run-lock.js';
import type { Clock, LiveAgents, Logger, ViewSource } from '../core/ports.js';
import type { RunLocks } from '../core/run-lock.js';
import { silentLogger } from '../core/silent-logger.js';
import { systemClock } from '../system-clock.js';
import { Turnstile } from '../turnstile.js';
import { agentSource } from './agent-source.js';
import { Callers, type Tokens } from './caller.js';
import { connectionsRoute } from './connections.js';
import { cors } from './cors.js';
import { type CredentialLookup, headerLookup } from './credentials.js';
import { EventFeed, eventsRoute } from './event-feed.js';
import { generationRoute, generationsRoute } from './generations.js';
import { livenessRoute, readinessRoute } from './health.js';
import { jsonBody } from './json-body.js';
import { Metrics } from './metrics.js';
import { OpenRuns } from './open-runs.js';
import { openapiRoute } from './openapi.js';
import { pageRouter } from './page.js';
import { problemHandler } from './problem.js';
import { refreshNowRoute, refreshStatusRoute, refuseOthers, refuseStrangers } from './refresh.js';
import { decideRoute, heldRoute } from './review.js';
import type { Access, RouteDescription } from './route-description.js';
import { ROUTES, type RouteName } from './route-table.js';
import { type AroundRun, type RunOutcome, runsRoute } from './runs.js';
import { threadRoute } from './threads.js';
import { turnsRoute } from './turns.js';
import { viewsRoute } from './views.js';

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
  /** One run at a time on a thread; within this process unless given. */
  readonly locks?: RunLocks;
  /** Rejects with a StoreFailure while threads cannot be kept; then runs are refused before they stream (CONTRACT.md 16.1). */
  readonly checkStore?: () => Promise<void>;
  /** Origins whose pages may use the API; none unless given. */
  readonly corsOrigins?: readonly string[];
  /** The toolsets' views, for a host that keeps its agent itself; a refresher brings its own. */
  readonly views?: ViewSource;
  /** The folder of the built page, which is then served at the router's own path; no page unless given. */
  readonly pageFolder?: string;
  readonly logger?: Logger;
  readonly clock?: Clock;
}

/**
 * The routes of CONTRACT.md 9 as an Express router, for the service and for a host's own application. Takes whoever keeps the agent current, or
 * a function that returns the current agent and undefined before there is one (CONTRACT.md 12.2).
 */
export function createRouter(
  live: LiveAgents<AgentOfGeneration> | (() => AgentOfGeneration | undefined),
  options: RouterOptions = {},
): Router {
  const { logger = silentLogger, clock = systemClock, environment = {}, limits = {} } = options;
  const source = agentSource(live, clock);
  const views = options.views ?? source.refresher?.views;
  const callers = new Callers(options.tokens ?? {}, options.isAdmin);
  const locks = options.locks ?? new LocalRunLocks(clock);
  const checkStore = options.checkStore ?? (async () => undefined);
  const openRuns = options.openRuns ?? new OpenRuns({ clock, maxRuns: limits.maxRuns });
  const lookup = options.credentials ?? headerLookup(callers);
  const aroundRun: AroundRun = options.aroundRun ?? ((_info, run) => run());

  const feed = source.refresher && new EventFeed(source.refresher, clock);
  if (feed !== undefined) openRuns.onDrain(() => feed.close());
  const metrics = new Metrics({ source, openRuns, clock });
  const onEnded = (outcome: RunOutcome) => metrics.runEnded(outcome);
  const handlers: Readonly<Record<RouteName, RequestHandler>> = {
    liveness: livenessRoute,
    readiness: readinessRoute(source, openRuns),
    run: runsRoute({
      source,
      locks,
      checkStore,
      openRuns,
      turnstile: new Turnstile(),
      lookup,
      views,
      aroundRun,
      runSeconds: limits.runSeconds ?? 900,
      clock,
      logger,
      onEnded,
    }),
    thread: threadRoute(source, locks),
    turns: turnsRoute(source),
    connections: connectionsRoute({ source, lookup, environment }),
    view: viewsRoute(source, views),
    refreshStatus: refreshStatusRoute(source, callers),
    refreshNow: refreshNowRoute(source, callers),
    refreshEvents: eventsRoute(feed, callers, clock),
    heldChange: heldRoute(source),
    approveChange: decideRoute(source, callers, 'approved'),
    rejectChange: decideRoute(source, callers, 'rejected'),
    generations: generationsRoute(source),
    generation: generationRoute(source),
    metrics: metrics.route,
    openapi: openapiRoute({ usersSendToken: options.tokens?.api !== undefined }),
  };
  const guards: Readonly<Record<Access, readonly RequestHandler[]>> = {
    open: [],
    user: [callers.guard('all')],
    status: [callers.guard('refresh')],
    refresh: [callers.guard('refresh'), refuseStrangers(callers)],
    admin: [callers.guard('refresh'), refuseOthers(callers)],
  };

  const router = Router();
  router.use(cors(options.corsOrigins ?? [], source));
  for (const [name, route] of Object.entries(ROUTES) as [RouteName, RouteDescription][]) {
    const body = route.body === undefined ? [] : jsonBody(route.body.presence);
    router[route.method](route.path, ...guards[route.access], ...body, handlers[name]);
  }
  if (options.pageFolder !== undefined) router.use(pageRouter(options.pageFolder));
  router.use(problemHandler(logger));
  return router;
}
