import { randomUUID } from 'node:crypto';
import { HumanMessage } from '@langchain/core/messages';
import { GraphRecursionError } from '@langchain/langgraph';
import { StoreFailure } from '../core/facts.js';
import type { AgentOfGeneration, TurnConfig } from './build-agent.js';
import type { RunEvent } from './run-event.js';
import { toThreadMessages } from './thread-messages.js';
import { messagesOf, repairOf } from './thread-repair.js';
import type { TurnContext } from './turn-context.js';
import { TurnEvents } from './turn-events.js';
import { checkpointOf, turnRecord } from './turn-history.js';
import { ModelFailure } from './turn-rules.js';

/** How many steps of the graph a turn may take (CONTRACT.md 7.10). */
const RECURSION_LIMIT = 100;

/** A turn failed. The message is for the client and says nothing that a provider or a toolset answered; `cause` is for the operator. */
export class RunFailure extends Error {
  readonly code: 'model_failed' | 'recursion_limit' | 'store_unavailable' | 'store_full' | 'run_failed';

  constructor(code: RunFailure['code'], message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'RunFailure';
    this.code = code;
  }
}

export interface StreamRunOptions {
  readonly agent: AgentOfGeneration;
  readonly threadId: string;
  /** The user's message. Its id is kept unless the thread holds that id already (CONTRACT.md 7.4). */
  readonly message: { readonly id: string; readonly text: string };
  /** The generation that answers; it is kept with the turn in the thread. */
  readonly generation: { readonly number: number; readonly fingerprint: string };
  readonly context: TurnContext;
  readonly signal: AbortSignal;
  /** Added to the graph's configuration of this run: tags, callbacks, configurable values (CONTRACT.md 12.4). */
  readonly config?: TurnConfig;
}

/**
 * One turn on a thread, as events. Throws a {@link RunFailure} when it fails, and the signal's reason when it is cancelled. The caller
 * holds the thread's lock.
 */
export async function* streamRun(options: StreamRunOptions): AsyncGenerator<RunEvent> {
  const { agent, signal } = options;
  try {
    const config = configOf(options);
    const before = await agent.graph.getState(config);
    signal.throwIfAborted();
    const messages = messagesOf(before);
    const repair = repairOf(before);
    const events = new TurnEvents([...messages, ...repair]);
    const user = userMessage(options, { messages, after: checkpointOf(before) });
    const chunks = await agent.graph.stream({ messages: [...repair, user] }, config);
    for await (const chunk of chunks) {
      signal.throwIfAborted();
      yield* events.read(chunk);
    }
    signal.throwIfAborted();
    yield { type: 'messages', messages: toThreadMessages(messagesOf(await agent.graph.getState(config))) };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw failureOf(error);
  }
}

/** The messages of a thread, oldest first; empty where there is no such thread. */
export async function readThread(agent: AgentOfGeneration, threadId: string) {
  return toThreadMessages(messagesOf(await agent.graph.getState({ configurable: { thread_id: threadId } })));
}

function configOf({ threadId, context, signal, config }: StreamRunOptions): TurnConfig {
  return {
    recursionLimit: RECURSION_LIMIT,
    // A process that dies must not have called a tool of which the thread does not know.
    durability: 'sync',
    ...config,
    configurable: { ...config?.configurable, thread_id: threadId },
    streamMode: ['messages', 'updates'],
    context,
    signal,
  };
}

function userMessage(
  { message, generation }: StreamRunOptions,
  { messages, after }: { messages: readonly { id?: string }[]; after: string | null },
): HumanMessage {
  const { id, text } = message;
  const isTaken = messages.some((other) => other.id === id);
  const { number, fingerprint } = generation;
  const record = turnRecord({ generation: number, fingerprint, after });
  return new HumanMessage({ id: isTaken ? randomUUID() : id, content: text, additional_kwargs: record });
}

function failureOf(error: unknown): RunFailure {
  const model = causes(error).find((cause) => cause instanceof ModelFailure);
  if (model) return new RunFailure('model_failed', 'The model could not be reached, or it refused the request.', model.cause);
  if (causes(error).some((cause) => cause instanceof GraphRecursionError)) {
    return new RunFailure('recursion_limit', `The run was stopped after ${RECURSION_LIMIT} steps.`, error);
  }
  const store = causes(error).find((cause) => cause instanceof StoreFailure);
  if (store?.code === 'store_full') return new RunFailure('store_full', 'The store that keeps threads is full.', store);
  if (store?.code === 'store_unavailable')
    return new RunFailure('store_unavailable', 'The store that keeps threads cannot be reached.', store);
  return new RunFailure('run_failed', 'The run failed because of an internal error.', error);
}

/** The error and what caused it, outermost first. Bounded, because foreign errors may name each other. */
function causes(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let next = error; next instanceof Error && chain.length < 10; next = next.cause) chain.push(next);
  return chain;
}
