import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import type { Express } from 'express';
import { type AgentOfGeneration, buildAgent } from './agent/build-agent.js';
import { createModel } from './agent/model.js';
import { LocalRunLocks } from './agent/run-lock.js';
import { ToolCache } from './agent/tool-cache.js';
import type { Config } from './config.js';
import type { Clock, Logger } from './core/ports.js';
import { silentLogger } from './core/silent-logger.js';
import { createApplication } from './http/application.js';
import { OpenRuns } from './http/open-runs.js';
import { createRouter } from './http/router.js';
import type { AroundRun } from './http/runs.js';
import { ToolsetRefresher } from './refresh/refresher.js';
import { openStore } from './store/open-store.js';
import { systemClock } from './system-clock.js';

const PAGE_FOLDER = fileURLToPath(new URL('./page', import.meta.url));

export interface AppOptions {
  /** Default: nothing is logged. */
  readonly logger?: Logger;
  /** The chat model; made from `config.provider` unless given. */
  readonly model?: BaseChatModel;
  /** Where `${MCP_HEADER_…}` and fallback credentials come from. Default `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock;
  /** The name of this process at `GET /refresh` and to other replicas. Default: made from the host name. */
  readonly instance?: string;
  /** Wraps each run while it streams (CONTRACT.md 12.4). */
  readonly aroundRun?: AroundRun;
  /** Where the built page lies, for MCP_AGENT_API_UI. Default: beside the built service. */
  readonly pageFolder?: string;
}

/** The whole service, without a server and without signals: whoever creates it listens, starts, drains and stops. */
export interface App {
  /** Answers from the first moment; before `start` resolves, readiness is 503. */
  readonly application: Express;
  readonly refresher: ToolsetRefresher<AgentOfGeneration>;
  /** Connects to the toolsets. Rejects where the service would exit (CONTRACT.md 11.1). */
  start(options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** No new runs from now on; resolves when the running ones have ended, at the latest after MCP_AGENT_API_DRAIN_SECONDS (11.3). */
  drain(): Promise<void>;
  /** Closes the sessions and the store. */
  stop(): Promise<void>;
}

/**
 * Puts the parts together: refresher, agent and routes. Rejects when the model cannot be made (its package is missing, for
 * example) or the checkpoint store cannot be opened. Installs no signal handler and keeps no state outside of what it returns.
 */
export async function createApp(config: Config, options: AppOptions = {}): Promise<App> {
  const { logger = silentLogger, env = process.env, clock = systemClock, instance = instanceName(), pageFolder = PAGE_FOLDER } = options;
  const { provider } = config;
  const model = options.model ?? (await createModel(provider));
  const { checkpoint, threadDays } = config;
  const store = await openStore(checkpoint, { clock, logger, instance, threadDays, localLocks: new LocalRunLocks(clock) });
  const cache = new ToolCache();
  const refresher = new ToolsetRefresher<AgentOfGeneration>({
    url: config.mcpUrl,
    build: (catalog, sessions) =>
      buildAgent({
        catalog,
        sessions,
        model,
        checkpointer: store.saver,
        systemPrompt: config.systemPrompt,
        toolSeconds: config.toolSeconds,
        cache,
      }),
    everySeconds: config.refreshSeconds,
    pollingSeconds: config.pollingSeconds,
    indexSeconds: config.indexSeconds,
    debounceMs: config.debounceMs,
    listTimeoutSeconds: config.listTimeoutSeconds,
    heartbeatSeconds: config.heartbeatSeconds,
    startupSeconds: config.startupSeconds,
    readySeconds: config.readySeconds,
    required: config.required,
    viewSeconds: Math.max(3_600, config.runSeconds),
    env,
    logger,
    clock,
    instance,
    review: config.review.length === 0 ? undefined : { toolsets: config.review, first: config.reviewFirst },
    facts: store.facts,
    link: store.link,
  });
  const openRuns = new OpenRuns({ clock, maxRuns: config.maxRuns });
  const router = createRouter(refresher, {
    tokens: { api: config.token, admin: config.adminToken, refresh: config.refreshTokens },
    environment: env,
    aroundRun: options.aroundRun,
    limits: { runSeconds: config.runSeconds },
    openRuns,
    locks: store.locks,
    checkStore: () => store.check(),
    corsOrigins: config.corsOrigins,
    pageFolder: config.ui === 'on' ? pageFolder : undefined,
    logger,
    clock,
  });
  return {
    application: createApplication(router),
    refresher,
    start: (startOptions) => refresher.start(startOptions),
    async drain() {
      openRuns.beginDrain();
      await openRuns.idle(config.drainSeconds * 1_000);
    },
    async stop() {
      await refresher.stop();
      await store.close();
    },
  };
}

/** In a container the host name alone tells replicas apart; elsewhere several processes share a host. */
function instanceName(): string {
  return process.pid === 1 ? hostname() : `${hostname()}-${process.pid}`;
}
