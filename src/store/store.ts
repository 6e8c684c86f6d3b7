import type { BaseCheckpointSaver } from '@langchain/langgraph';
import type { Facts } from '../core/facts.js';
import type { Clock, Logger } from '../core/ports.js';
import type { ReplicaLink } from '../core/replicas.js';
import type { RunLocks } from '../core/run-lock.js';

/** Everything that outlives an agent: threads, facts, the right to run on a thread, and the way to other replicas (CONTRACT.md 16). */
export interface Store {
  /** Where threads are kept: one saver for all generations (CONTRACT.md 2.4). It rejects with a StoreFailure. */
  readonly saver: BaseCheckpointSaver;
  readonly facts: Facts;
  readonly locks: RunLocks;
  /** Undefined where one process has the store to itself. */
  readonly link: ReplicaLink | undefined;
  /** Resolves when the store answers; rejects with a StoreFailure, at the latest after two seconds. */
  check(): Promise<void>;
  close(): Promise<void>;
}

export interface StoreOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The name of this process. */
  readonly instance: string;
  /** One run at a time within this process. */
  readonly localLocks: RunLocks;
  /** Threads that were idle for so many days are deleted; 0 keeps them. */
  readonly threadDays?: number;
  /** How many threads `memory` keeps; 1000 unless given (CONTRACT.md 10, MCP_AGENT_THREAD_DAYS). */
  readonly maxThreads?: number;
  /** `sqlite` only: the file grows to so many pages (of 4096 bytes) and then counts as full. */
  readonly maxPages?: number;
}
