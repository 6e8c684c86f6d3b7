import { hostname } from 'node:os';
import type { BaseCheckpointSaver } from '@langchain/langgraph';
import { LocalRunLocks } from '../agent/run-lock.js';
import type { Logger } from '../core/ports.js';
import { systemClock } from '../system-clock.js';
import { openStore } from './open-store.js';

/** A saver for threads alone, for a host that builds its agent itself (CONTRACT.md 12.1). */
export interface Checkpointing {
  /** One saver for all agents (CONTRACT.md 2.4). */
  readonly saver: BaseCheckpointSaver;
  close(): Promise<void>;
}

const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Opens the store that MCP_AGENT_CHECKPOINT names. Rejects as {@link openStore} does. */
export async function openCheckpointing(
  location: string,
  { maxThreads, logger = silent }: { maxThreads?: number; logger?: Logger } = {},
): Promise<Checkpointing> {
  const store = await openStore(location, {
    clock: systemClock,
    logger,
    instance: hostname(),
    localLocks: new LocalRunLocks(systemClock),
    maxThreads,
  });
  return { saver: store.saver, close: () => store.close() };
}
