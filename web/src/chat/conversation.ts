import { HttpAgent } from '@ag-ui/client';
import type { Message } from '@ag-ui/core';
import { address } from '../api.js';
import { newId } from '../new-id.js';
import { runHeaders, tokenRequest } from '../secrets.js';
import { Store } from '../store.js';
import { type RunFacts, type Turn, turnsOf } from './turn.js';

/**
 * One conversation on `POST /runs`. `@ag-ui/client` reads the stream, checks the order of its events and keeps the messages; this class adds to
 * each question which generation answers it and how its run stands.
 */
export class Conversation {
  readonly turns = new Store<readonly Turn[]>([]);
  readonly isRunning = new Store(false);
  #agent = newAgent();
  #runs = new Map<string, RunFacts>();

  /** Asks one question; does nothing while an answer is still coming. */
  async ask(question: string): Promise<void> {
    if (this.isRunning.get()) return;
    const agent = this.#agent;
    const id = newId();
    const runs = this.#runs;
    const note = (part: Partial<RunFacts>) => {
      const known = runs.get(id) ?? { state: { kind: 'running' }, generation: null, fingerprint: null };
      runs.set(id, { ...known, ...part });
      if (agent === this.#agent) this.#show(agent.messages);
    };
    // What was stopped stays stopped, whatever the stream says of its end.
    const end = (state: RunFacts['state']) => {
      if (runs.get(id)?.state.kind === 'running') note({ state });
    };
    agent.addMessage({ id, role: 'user', content: question });
    agent.headers = runHeaders();
    this.isRunning.set(true);
    note({});
    try {
      await agent.runAgent(
        {},
        {
          onRunStartedEvent: ({ event }) => note(factsIn(event)),
          onMessagesChanged: ({ messages }) => this.#showOf(agent, messages),
          onRunFinishedEvent: () => end({ kind: 'finished' }),
          onRunErrorEvent: ({ event }) => end({ kind: 'failed', code: event.code ?? 'run_failed', message: event.message }),
        },
      );
      end({ kind: 'stopped' });
    } catch (error) {
      // Whatever went wrong is shown with the question; the conversation can go on.
      end(failureOf(error));
    } finally {
      if (agent === this.#agent) this.isRunning.set(false);
    }
  }

  /** Ends the answer that is coming; what has come of it stays. */
  stop(): void {
    const running = [...this.#runs].find(([, { state }]) => state.kind === 'running');
    if (running !== undefined) this.#runs.set(running[0], { ...running[1], state: { kind: 'stopped' } });
    this.#agent.abortRun();
    this.#show(this.#agent.messages);
  }

  /** Begins a new thread. The old one stays on the server, and not on this page. */
  startAnew(): void {
    this.#agent.abortRun();
    this.#agent = newAgent();
    this.#runs = new Map();
    this.isRunning.set(false);
    this.#show([]);
  }

  #showOf(agent: HttpAgent, messages: readonly Message[]): void {
    if (agent === this.#agent) this.#show(messages);
  }

  #show(messages: readonly Message[]): void {
    this.turns.set(turnsOf(messages, this.#runs));
  }
}

function newAgent(): HttpAgent {
  return new HttpAgent({ url: address('runs'), threadId: newId() });
}

/** `RUN_STARTED` names its generation in its metadata (CONTRACT.md 7.2). */
function factsIn(event: object): Partial<RunFacts> {
  const metadata = 'metadata' in event && typeof event.metadata === 'object' && event.metadata !== null ? event.metadata : {};
  return {
    generation: 'generation' in metadata && typeof metadata.generation === 'number' ? metadata.generation : null,
    fingerprint: 'fingerprint' in metadata && typeof metadata.fingerprint === 'string' ? metadata.fingerprint : null,
  };
}

function failureOf(error: unknown): RunFacts['state'] {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined;
  if (status === 401) {
    tokenRequest.set('api');
    return { kind: 'failed', code: 'unauthorized', message: 'The service wants a token. Enter it and ask again.' };
  }
  if (status === 503) return { kind: 'failed', code: 'not_ready', message: 'The service takes no questions at the moment.' };
  const message = error instanceof Error && error.message !== '' ? error.message : 'The run broke off.';
  return { kind: 'failed', code: 'run_failed', message };
}
