import { randomUUID } from 'node:crypto';
import { type AgentSubscriber, type BaseEvent, HttpAgent, type Message } from '@ag-ui/client';
import { createParser } from 'eventsource-parser';

/** An AG-UI event as it came; a test looks into the fields that it is about. */
export interface RunEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface TurnOptions {
  /** The user's text. */
  text: string;
  /** A new thread where none is given. */
  threadId?: string;
  runId?: string;
  messageId?: string;
  headers?: Record<string, string>;
  path?: string;
  signal?: AbortSignal;
}

export interface Turn {
  readonly status: number;
  readonly headers: Headers;
  readonly threadId: string;
  readonly runId: string;
  /** All events of the stream; empty when the answer is no stream. */
  readonly events: readonly RunEvent[];
  /** What the assistant said, all text messages together. */
  readonly text: string;
  /** The parsed JSON body when the answer is no stream; undefined otherwise. */
  readonly problem: unknown;
  /** SSE comments, such as the ones that keep a stream open. */
  readonly comments: readonly string[];
}

/** A turn whose events can be watched while they arrive. */
export interface RunningTurn {
  readonly status: number;
  readonly headers: Headers;
  readonly threadId: string;
  readonly runId: string;
  /** Grows while the stream runs. */
  readonly events: readonly RunEvent[];
  /** What the assistant has said so far. */
  text(): string;
  /** Closes the connection, as a user does who leaves. */
  leave(): void;
  /** Resolves when the stream has ended; rejects when the connection broke. */
  readonly done: Promise<Turn>;
}

/** Sends one turn and waits for the end of its stream. */
export async function runTurn(baseUrl: string, options: TurnOptions): Promise<Turn> {
  return (await beginTurn(baseUrl, options)).done;
}

/** Sends one turn and returns as soon as the answer's headers are there. */
export async function beginTurn(baseUrl: string, options: TurnOptions): Promise<RunningTurn> {
  const { text, threadId = randomUUID(), runId = randomUUID(), messageId = randomUUID(), path = '/runs' } = options;
  const leaving = new AbortController();
  const signal = options.signal === undefined ? leaving.signal : AbortSignal.any([leaving.signal, options.signal]);
  const body = {
    threadId,
    runId,
    state: {},
    messages: [{ id: messageId, role: 'user', content: text }],
    tools: [],
    context: [],
    forwardedProps: {},
  };
  const response = await fetch(new URL(path, baseUrl), {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...options.headers },
    body: JSON.stringify(body),
    signal,
  });
  const events: RunEvent[] = [];
  const comments: string[] = [];
  const textSoFar = () => textOf(events);
  const read = async (): Promise<Turn> => {
    const streamed = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    const problem = streamed ? undefined : jsonOrText(await response.text());
    if (streamed) await readEvents(response, { events, comments });
    return { status: response.status, headers: response.headers, threadId, runId, events, text: textSoFar(), problem, comments };
  };
  const done = read();
  // A test that leaves a run does not have to wait for its end; one that does wait still sees the rejection.
  done.catch(() => undefined);
  return {
    status: response.status,
    headers: response.headers,
    threadId,
    runId,
    events,
    text: textSoFar,
    leave: () => leaving.abort(),
    done,
  };
}

async function readEvents(response: Response, into: { events: RunEvent[]; comments: string[] }): Promise<void> {
  const parser = createParser({
    onEvent: ({ data }) => into.events.push(JSON.parse(data) as RunEvent),
    onComment: (comment) => into.comments.push(comment),
  });
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }));
}

function textOf(events: readonly RunEvent[]): string {
  return events.map((event) => (event.type === 'TEXT_MESSAGE_CONTENT' ? String(event.delta) : '')).join('');
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not every answer is JSON; the test sees the text then.
    return text;
  }
}

export interface VerifiedTurn {
  readonly events: readonly RunEvent[];
  readonly text: string;
  /** The thread's messages as the AG-UI client holds them after the run. */
  readonly messages: readonly Message[];
}

/**
 * Keeps the AG-UI client from printing a failure that is thrown to the test anyway. Its types leave `stopPropagation` out here,
 * although the client honours it.
 */
const HANDLED: object = { stopPropagation: true };

/**
 * Sends one turn through AG-UI's own client, whose verifier and schemas check every event. Throws when they refuse one, when
 * the answer is no stream, and when the stream ends without `RUN_FINISHED` or `RUN_ERROR`.
 */
export async function runVerifiedTurn(baseUrl: string, options: TurnOptions): Promise<VerifiedTurn> {
  const { text, threadId = randomUUID(), runId = randomUUID(), messageId = randomUUID(), headers = {}, path = '/runs' } = options;
  const agent = new HttpAgent({
    url: new URL(path, baseUrl).href,
    threadId,
    headers,
    initialMessages: [{ id: messageId, role: 'user', content: text }],
  });
  const events: RunEvent[] = [];
  let failure: Error | undefined;
  const watch: AgentSubscriber = {
    onEvent: ({ event }: { event: BaseEvent }) => void events.push(event as unknown as RunEvent),
    onRunFailed: ({ error }: { error: Error }) => {
      failure = error;
      return HANDLED;
    },
  };
  const leave = () => agent.abortRun();
  options.signal?.addEventListener('abort', leave, { once: true });
  try {
    await agent.runAgent({ runId }, watch);
  } finally {
    options.signal?.removeEventListener('abort', leave);
  }
  if (failure !== undefined) throw failure;
  const last = events.at(-1)?.type;
  if (last !== 'RUN_FINISHED' && last !== 'RUN_ERROR') throw new Error(`The stream ended with ${last ?? 'no event at all'}.`);
  return { events, text: textOf(events), messages: agent.messages };
}
