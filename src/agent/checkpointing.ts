import type { RunnableConfig } from '@langchain/core/runnables';
import { type BaseCheckpointSaver, type Checkpoint, type CheckpointMetadata, MemorySaver } from '@langchain/langgraph';

/** Where threads are kept: one saver for all generations (CONTRACT.md 2.4). */
export interface Checkpointing {
  readonly saver: BaseCheckpointSaver;
  close(): Promise<void>;
}

/** How many threads `memory` keeps (CONTRACT.md 10, MCP_AGENT_THREAD_DAYS). */
const MEMORY_THREADS = 1000;

/** Opens the store that MCP_AGENT_CHECKPOINT names. Throws a RangeError, one line, for a store that this build does not accept. */
export async function openCheckpointing(
  store: string,
  { maxThreads = MEMORY_THREADS }: { maxThreads?: number } = {},
): Promise<Checkpointing> {
  if (store === 'memory') return { saver: new NewestThreadsSaver(maxThreads), close: async () => {} };
  // Only the scheme is repeated: the rest of a database URL may hold a password.
  throw new RangeError(`MCP_AGENT_CHECKPOINT begins with ${JSON.stringify(store.split(':')[0])}; this build accepts memory only.`);
}

/** Keeps threads in memory, and of these only the newest: the one whose last write is longest ago goes first. */
class NewestThreadsSaver extends MemorySaver {
  readonly #maxThreads: number;
  /** A Set keeps the order of insertion, so its first entry was written to longest ago. */
  readonly #threads = new Set<string>();

  constructor(maxThreads: number) {
    super();
    this.#maxThreads = maxThreads;
  }

  override async put(config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata): Promise<RunnableConfig> {
    const written = await super.put(config, checkpoint, metadata);
    const threadId = String(config.configurable?.thread_id);
    this.#threads.delete(threadId);
    this.#threads.add(threadId);
    for (const oldest of this.#threads) {
      if (this.#threads.size <= this.#maxThreads) break;
      await this.deleteThread(oldest);
    }
    return written;
  }

  override async deleteThread(threadId: string): Promise<void> {
    this.#threads.delete(threadId);
    await super.deleteThread(threadId);
  }
}
