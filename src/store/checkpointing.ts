import { hostname } from 'node:os';
import type { BaseCheckpointSaver } from '@langchain/langgraph';
import { LocalRunLocks } from '../agent/run-lock.js';
import type { Logger } from '../core/ports.js';
import { silentLogger } from '../core/silent-logger.js';
import { systemClock } from '../system-clock.js';
import { openStore } from './open-store.js';
import type { Store } from './store.js';

/** A saver for threads alone, for a host that builds its agent itself (CONTRACT.md 12.1). */
export class Checkpointing {
  /** One saver for all agents, so that threads outlive them (CONTRACT.md 2.4). */
  readonly saver: BaseCheckpointSaver;
  readonly #store: Store;

  private constructor(store: Store) {
    this.saver = store.saver;
    this.#store = store;
  }

  /**
   * Opens the store that `MCP_AGENT_CHECKPOINT` would name: `memory`, `sqlite:PATH` or `postgres://…`. Rejects as {@link openStore} does:
   * with one line when the driver is missing or the database cannot be reached.
   */
  static async open(
    location: string,
    { maxThreads, logger = silentLogger }: { readonly maxThreads?: number; readonly logger?: Logger } = {},
  ): Promise<Checkpointing> {
    const localLocks = new LocalRunLocks(systemClock);
    return new Checkpointing(await openStore(location, { clock: systemClock, logger, instance: hostname(), localLocks, maxThreads }));
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}
