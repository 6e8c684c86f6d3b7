import { type BaseMessage, HumanMessage } from '@langchain/core/messages';
import type { StateSnapshot } from '@langchain/langgraph';
import type { AgentOfGeneration } from './build-agent.js';
import { textOf } from './thread-messages.js';
import { messagesOf } from './thread-repair.js';

/** One turn of a thread, with the generation whose tools and descriptions the model saw (CONTRACT.md 9). */
export interface ThreadTurn {
  /** Rising from 1. */
  readonly turn: number;
  readonly question: string;
  /** The thread's last checkpoint that belongs to this turn; null where that is not known. */
  readonly checkpointId: string | null;
  /** Null for a turn that this service did not write. */
  readonly generation: number | null;
  readonly fingerprint: string | null;
}

/** The field of a user's message that holds the record of its turn. It travels with the message in every store; providers are not sent it. */
const KEY = 'mcp_agent_turn';

interface TurnRecord {
  readonly generation: number;
  readonly fingerprint: string;
  /**
   * The checkpoint that the turn began after: the last one of the turn before. Written down here, it can be told for each turn without
   * reading the whole history of a long thread.
   */
  readonly after: string | null;
}

/** What a user's message carries besides its text. */
export function turnRecord(record: TurnRecord): Record<string, unknown> {
  return { [KEY]: record };
}

/** The id of the checkpoint that this state is; null for a thread that holds nothing. */
export function checkpointOf(state: StateSnapshot): string | null {
  const id: unknown = state.config.configurable?.checkpoint_id;
  return messagesOf(state).length > 0 && typeof id === 'string' ? id : null;
}

/** The last turns of a thread, newest last, and how many there are in all; 0 where there is no such thread. */
export async function readTurns(
  agent: AgentOfGeneration,
  { threadId, limit }: { threadId: string; limit: number },
): Promise<{ total: number; history: ThreadTurn[] }> {
  const state = await agent.graph.getState({ configurable: { thread_id: threadId } });
  const questions = messagesOf(state).filter((message) => HumanMessage.isInstance(message));
  const records = questions.map(recordOf);
  const newest = checkpointOf(state);
  const history = questions.map((question, index): ThreadTurn => {
    const next = records[index + 1];
    const isLast = index === questions.length - 1;
    return {
      turn: index + 1,
      question: textOf(question),
      checkpointId: isLast ? newest : (next?.after ?? null),
      generation: records[index]?.generation ?? null,
      fingerprint: records[index]?.fingerprint ?? null,
    };
  });
  return { total: history.length, history: history.slice(-limit) };
}

function recordOf(message: BaseMessage): TurnRecord | undefined {
  const record: unknown = message.additional_kwargs[KEY];
  if (typeof record !== 'object' || record === null || !('generation' in record && 'fingerprint' in record)) return undefined;
  const { generation, fingerprint } = record;
  if (typeof generation !== 'number' || typeof fingerprint !== 'string') return undefined;
  return { generation, fingerprint, after: 'after' in record && typeof record.after === 'string' ? record.after : null };
}
