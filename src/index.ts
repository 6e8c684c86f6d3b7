export type { OwnAgent } from './agent/adopt-agent.js';
export { adoptAgent } from './agent/adopt-agent.js';
export type { AgentOfGeneration, BuildAgentOptions, ShownTool, TurnConfig } from './agent/build-agent.js';
export { buildAgent } from './agent/build-agent.js';
export { createModel } from './agent/model.js';
export { LocalRunLocks } from './agent/run-lock.js';
export { ToolCache } from './agent/tool-cache.js';
export { ConfigError } from './config/setting.js';
export type { Config } from './config.js';
export { readConfig, refreshSeconds } from './config.js';
export type { Catalog } from './core/catalog.js';
export type { ErrorCode } from './core/errors.js';
export { CodedError, ERROR_CODES } from './core/errors.js';
export type { Decision, Definitions, Facts, GenerationRecord, ToolFact } from './core/facts.js';
export { StoreFailure } from './core/facts.js';
export { fingerprint } from './core/fingerprint.js';
export type { Generation, Lease } from './core/generation.js';
export type {
  Clock,
  LiveAgents,
  Logger,
  ReadView,
  RefresherFeed,
  ServedView,
  Sessions,
  ToolCallRequest,
  ToolCallResult,
  ViewSource,
} from './core/ports.js';
export type { Hint, Replica, ReplicaEvents, ReplicaLink } from './core/replicas.js';
export type { RunLock, RunLocks } from './core/run-lock.js';
export type { Snapshot } from './core/snapshot.js';
export type { Outcome, Readiness, RefreshStatus, RoundRecord, ToolsetState, ToolsetStatus, Trigger } from './core/status.js';
export type { ToolDefinition } from './core/tool.js';
export type { ViewContent } from './core/view.js';
export { OpenRuns } from './http/open-runs.js';
export type { RouterOptions } from './http/router.js';
export { createRouter } from './http/router.js';
export type { AroundRun, RunInfo } from './http/runs.js';
export type { AgentSlot, KeepFreshOptions } from './refresh/keep-fresh.js';
export { keepFresh } from './refresh/keep-fresh.js';
export type {
  DecisionMade,
  EndedList,
  HeldChange,
  RefresherEvents,
  RefresherOptions,
  RefreshRequest,
  Swap,
  ToolsetChange,
  ViewChange,
} from './refresh/options.js';
export { ToolsetRefresher } from './refresh/refresher.js';
export type { ViewCacheOptions } from './refresh/view-cache.js';
export { ViewCache } from './refresh/view-cache.js';
export type { App, AppOptions } from './service.js';
export { createApp } from './service.js';
export { Checkpointing } from './store/checkpointing.js';
export { openStore } from './store/open-store.js';
export type { Store, StoreOptions } from './store/store.js';
export { systemClock } from './system-clock.js';
