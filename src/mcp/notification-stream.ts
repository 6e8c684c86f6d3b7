import { CodedError } from '../core/errors.js';
import type { Clock } from '../core/ports.js';
import { type Body, MAX_ANSWER_BYTES, readEvents } from './answer.js';
import { BeatWatch } from './beat-watch.js';
import type { Connection } from './connection.js';
import { failureOfRpcError } from './failure.js';
import { isObject, isRequestOrNotification, rpcErrorIn } from './rpc-message.js';
import { mediaTypeOf } from './wire.js';

/** How a stream came to its end, or why there is none. */
export type StreamEnd =
  /** The server has no such stream, or it will not say what we ask for; asking again soon is useless. */
  | { readonly kind: 'refused'; readonly why: string; readonly retry: 'never' | 'rarely' }
  /** The server does not know the session any more, or speaks another protocol era. */
  | { readonly kind: 'lost' }
  /** It could not be opened this time. */
  | { readonly kind: 'failed'; readonly error: CodedError }
  /** It was open, and was closed by server or network. */
  | { readonly kind: 'ended'; readonly retryMs: number | undefined }
  /** It was open, and nothing came for three beats: its socket is dead, and others of the same connection may be. */
  | { readonly kind: 'silent' };

export interface StreamOptions {
  readonly connection: Connection;
  readonly clock: Clock;
  /** Asks for changes of these views only (2026 era), in place of everything else. */
  readonly views?: readonly string[];
  /** The stream is open: from now on a change is heard. Called at most once. */
  readonly onOpen: () => void;
  /** Called exactly once, and not at all after `close`. */
  readonly onEnd: (end: StreamEnd) => void;
}

export interface NotificationStream {
  /** Resolves when it is known whether the stream opens. Never rejects; stays pending after an early `close`. */
  readonly settled: Promise<void>;
  close(): void;
}

/** The bounds between which a server's `retry:` is followed, in milliseconds. */
const RETRY_MS = { min: 100, max: 30_000 };

/**
 * Opens the one stream on which a server sends notifications of its own accord: GET in the 2025 era, `subscriptions/listen`
 * in the 2026 era. Everything that arrives is delivered to the connection (CONTRACT.md 4.4, 4.6). It never opens itself again.
 */
export function openNotificationStream(options: StreamOptions): NotificationStream {
  const { connection, clock } = options;
  const closing = new AbortController();
  let settle: () => void = () => undefined;
  const settled = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const onOpen = () => {
    options.onOpen();
    settle();
  };
  const run = new StreamRun(connection, { onOpen, views: options.views });
  let closed = false;
  let silent = false;
  const beats = new BeatWatch({
    clock,
    onSilence: () => {
      silent = true;
      closing.abort(new Error('Three keep-alive beats were missed.'));
    },
  });
  run
    .read({ signal: closing.signal, beats })
    // `read` turns every failure into a value.
    .then((end) => {
      beats.stop();
      if (closed) return;
      options.onEnd(silent ? { kind: 'silent' } : end);
      settle();
    });
  return {
    settled,
    close: () => {
      closed = true;
      beats.stop();
      closing.abort(new Error('The stream was closed on this side.'));
    },
  };
}

/** One attempt: the request, its answer, and the events on it. */
class StreamRun {
  readonly #connection: Connection;
  readonly #onOpen: () => void;
  readonly #listenId: string;
  readonly #views: readonly string[] | undefined;
  #open = false;
  #retryMs: number | undefined;

  constructor(connection: Connection, { onOpen, views }: { readonly onOpen: () => void; readonly views: StreamOptions['views'] }) {
    this.#connection = connection;
    this.#onOpen = onOpen;
    this.#views = views;
    this.#listenId = `listen-${connection.nextId()}`;
  }

  async read(options: { readonly signal: AbortSignal; readonly beats: BeatWatch }): Promise<StreamEnd> {
    const { wire } = this.#connection;
    try {
      const answer = await wire.open(this.#request(options.signal));
      try {
        await wire.refuse(answer.response, this.#connection.hasSession);
        if (mediaTypeOf(answer.response) !== 'text/event-stream')
          return { kind: 'refused', why: `answered ${mediaTypeOf(answer.response)}`, retry: 'rarely' };
        if (this.#connection.facts.era === 'legacy') this.#opened();
        return await this.#follow(answer.response.body, options.beats);
      } finally {
        answer.end();
      }
    } catch (error) {
      return this.#endOf(wire.failure(error));
    }
  }

  #request(signal: AbortSignal) {
    const { lastEventId, facts } = this.#connection;
    if (facts.era === 'legacy') {
      const headers = { ...this.#connection.headersFor(''), accept: 'text/event-stream' };
      return {
        method: 'GET' as const,
        headers: { ...headers, ...(lastEventId !== undefined && { 'last-event-id': lastEventId }) },
        signal,
      };
    }
    const method = 'subscriptions/listen';
    const views = this.#views;
    const notifications = views === undefined ? { toolsListChanged: true, resourcesListChanged: true } : { resourceSubscriptions: views };
    const params = this.#connection.paramsFor({ notifications });
    const headers = {
      ...this.#connection.headersFor(method),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    return { method: 'POST' as const, headers, body: JSON.stringify({ jsonrpc: '2.0', id: this.#listenId, method, params }), signal };
  }

  async #follow(body: Body, beats: BeatWatch): Promise<StreamEnd> {
    const events = readEvents(body, {
      maxEventBytes: MAX_ANSWER_BYTES,
      onBytes: () => beats.bytes(),
      onComment: () => beats.beat(),
      onRetry: (retryMs) => {
        this.#retryMs = Math.min(Math.max(retryMs, RETRY_MS.min), RETRY_MS.max);
      },
    });
    for await (const { id, event, data } of events) {
      if (id !== undefined && id !== '' && this.#connection.facts.era === 'legacy') this.#connection.lastEventId = id;
      if (data === '' || (event !== undefined && event !== 'message')) continue;
      const end = this.#take(data);
      if (end !== undefined) return end;
    }
    return this.#ended();
  }

  /** Takes one message; answers the stream's end when the message says that this is it. */
  #take(data: string): StreamEnd | undefined {
    let message: unknown;
    try {
      message = JSON.parse(data);
    } catch {
      // One garbled message is no reason to go deaf: whatever it announced, the safety poll finds.
      return undefined;
    }
    if (!isObject(message)) return undefined;
    if (message.id === this.#listenId && !isRequestOrNotification(message)) return this.#listenEnded(data);
    if (message.method === 'notifications/subscriptions/acknowledged') return this.#acknowledged(message);
    this.#connection.deliver(message);
    return undefined;
  }

  #acknowledged(message: { readonly [key: string]: unknown }): StreamEnd | undefined {
    const honoured = isObject(message.params) && isObject(message.params.notifications) ? message.params.notifications : {};
    if (this.#views !== undefined) {
      if (honoured.resourceSubscriptions === undefined)
        return { kind: 'refused', why: 'does not announce changes of views', retry: 'never' };
    } else if (honoured.toolsListChanged !== true)
      return { kind: 'refused', why: 'does not announce changes of its tools', retry: 'never' };
    this.#opened();
    return undefined;
  }

  /** The server answered the `subscriptions/listen` request itself: a refusal, or its orderly end. */
  #listenEnded(data: string): StreamEnd {
    const error = rpcErrorIn(data);
    if (error === undefined) return this.#ended();
    return this.#endOf(failureOfRpcError({ toolset: this.#connection.endpoint.name, ...error }));
  }

  #opened(): void {
    if (this.#open) return;
    this.#open = true;
    this.#onOpen();
  }

  #ended(): StreamEnd {
    if (this.#open) return { kind: 'ended', retryMs: this.#retryMs };
    const toolset = this.#connection.endpoint.name;
    return {
      kind: 'failed',
      error: new CodedError('TOOLSET_UNREACHABLE', `The stream of "${toolset}" ended before it was open.`, { toolset }),
    };
  }

  #endOf(error: CodedError): StreamEnd {
    if (this.#open) return { kind: 'ended', retryMs: this.#retryMs };
    const { status } = error;
    // SDK servers answer 409 while they still hold a stream of this session that is long dead: only a new session helps.
    if (error.code === 'SESSION_LOST' || (status === 409 && this.#connection.hasSession)) return { kind: 'lost' };
    if (status === 405) return { kind: 'refused', why: 'answered 405', retry: 'never' };
    if ((status !== undefined && status >= 300 && status < 500 && status !== 408 && status !== 425 && status !== 429) || status === 501)
      return { kind: 'refused', why: `answered ${status}`, retry: 'rarely' };
    if (error.code === 'TOOLSET_PROTOCOL_ERROR' || error.code === 'TOOLSET_NOT_MCP')
      return { kind: 'refused', why: error.code, retry: 'rarely' };
    return { kind: 'failed', error };
  }
}
