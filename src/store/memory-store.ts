import type { RunnableConfig } from '@langchain/core/runnables';
import { type Checkpoint, type CheckpointMetadata, MemorySaver } from '@langchain/langgraph';
import type { Clock } from '../core/ports.js';
import { MemoryFacts } from './memory-facts.js';
import type { Store, StoreOptions } from './store.js';
import { type SweptThreads, sweepThreads } from './thread-sweep.js';

const MAX_THREADS = 1_000;

/** Keeps everything in this process, until it ends. */
export function openMemoryStore({ clock, logger, localLocks, threadDays = 0, maxThreads = MAX_THREADS }: StoreOptions): Store {
  const saver = new NewestThreadsSaver({ clock, maxThreads });
  const stopSweep = sweepThreads({ threads: saver, locks: localLocks, threadDays, clock, logger });
  return {
    saver,
    facts: new MemoryFacts(),
    locks: localLocks,
    link: undefined,
    check: async () => undefined,
    close: async () => stopSweep(),
  };
}

/** Keeps threads in memory, and of these only the newest: the one whose last write is longest ago goes first. */
class NewestThreadsSaver extends MemorySaver implements SweptThreads {
  readonly #clock: Clock;
  readonly #maxThreads: number;
  /** When each thread was written to last. A Map keeps the order of insertion, so its first entry was written to longest ago. */
  readonly #writtenAt = new Map<string, number>();

  constructor({ clock, maxThreads }: { clock: Clock; maxThreads: number }) {
    super();
    this.#clock = clock;
    this.#maxThreads = maxThreads;
  }

  override async put(config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata): Promise<RunnableConfig> {
    const written = await super.put(config, checkpoint, metadata);
    const threadId = String(config.configurable?.thread_id);
    this.#writtenAt.delete(threadId);
    this.#writtenAt.set(threadId, this.#clock.date().getTime());
    for (const oldest of this.#writtenAt.keys()) {
      if (this.#writtenAt.size <= this.#maxThreads) break;
      await this.deleteThread(oldest);
    }
    return written;
  }

  override async deleteThread(threadId: string): Promise<void> {
    this.#writtenAt.delete(threadId);
    await super.deleteThread(threadId);
  }

  async idle(before: Date, limit: number): Promise<readonly string[]> {
    return [...this.#writtenAt].flatMap(([threadId, at]) => (at < before.getTime() ? [threadId] : [])).slice(0, limit);
  }

  async isIdle(threadId: string, before: Date): Promise<boolean> {
    return (this.#writtenAt.get(threadId) ?? 0) < before.getTime();
  }
}
