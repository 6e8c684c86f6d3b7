import { CodedError } from '../core/errors.js';
import { MAX_ANSWER_BYTES, readEvents } from './answer.js';
import { onAbort } from './time-limit.js';
import { mediaTypeOf, type OpenAnswer, type UserCall, type Wire } from './wire.js';

/** How long to wait before a stream that ended without the reply is asked for again, in milliseconds, where the server does not say. */
const RESUME_MS = 1_000;
/** The bounds within which a server's `retry:` is followed. */
const RETRY_MS = { min: 100, max: 30_000 };
/** A stream that was resumed this often in a row without one new event is given up. */
const MAX_VAIN_RESUMES = 3;

export interface ReplyStreamOptions {
  readonly wire: Wire;
  /** The headers of the request that is being answered: they name its session. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  readonly call?: UserCall | undefined;
}

/**
 * The messages on an event stream that answers a POST. A server of the 2025 era may number its events, close the stream before it has
 * replied, and go on where it was when it is asked with the last number (MCP specification 2025-11-25, "Sending Messages to the Server");
 * that is followed here, because it asks for nothing to be done again. Without numbers the end of the stream is the end.
 */
export class ReplyStream {
  readonly #options: ReplyStreamOptions;
  #answer: OpenAnswer;
  #lastEventId: string | undefined;
  #retryMs = RESUME_MS;
  #vain = 0;
  #hasReply = false;

  constructor(answer: OpenAnswer, options: ReplyStreamOptions) {
    this.#answer = answer;
    this.#options = options;
  }

  /** The data of each message, until the stream has ended for good. Throws what breaks it: only a stream that was closed in order is resumed. */
  async *messages(): AsyncGenerator<string, void> {
    do yield* this.#read();
    while (await this.#resume());
  }

  /** The reply has come: the stream is not resumed any more. */
  finish(): void {
    this.#hasReply = true;
  }

  /** Cuts what was not read. */
  end(): void {
    this.#answer.end();
  }

  async *#read(): AsyncGenerator<string, void> {
    const events = readEvents(this.#answer.response.body, {
      maxEventBytes: MAX_ANSWER_BYTES,
      maxBytes: MAX_ANSWER_BYTES,
      onRetry: (retryMs) => {
        this.#retryMs = Math.min(Math.max(retryMs, RETRY_MS.min), RETRY_MS.max);
      },
    });
    for await (const { id, event, data } of events) {
      if (id !== undefined && id !== '') {
        if (id !== this.#lastEventId) this.#vain = 0;
        this.#lastEventId = id;
      }
      if (data !== '' && (event === undefined || event === 'message')) yield data;
    }
  }

  async #resume(): Promise<boolean> {
    const { wire, headers, signal, call } = this.#options;
    if (this.#hasReply || this.#lastEventId === undefined || this.#vain >= MAX_VAIN_RESUMES) return false;
    this.#vain += 1;
    this.#answer.end();
    await this.#pause();
    const { 'content-type': _type, ...kept } = headers;
    try {
      const again = { ...kept, accept: 'text/event-stream', 'last-event-id': this.#lastEventId };
      const answer = await wire.open({ method: 'GET', headers: again, signal, call });
      this.#answer = answer;
      return answer.response.ok && mediaTypeOf(answer.response) === 'text/event-stream';
    } catch (error) {
      if (signal?.aborted || (error instanceof CodedError && error.code === 'SESSION_CLOSED')) throw error;
      // A stream that cannot be resumed has ended, and that is how its reader hears of it.
      return false;
    }
  }

  /** Waits as long as the server asked for, or until nobody wants the reply any more. */
  async #pause(): Promise<void> {
    const { wire, signal, call } = this.#options;
    const signals = [signal, call?.signal].filter((each) => each !== undefined);
    if (signals.some(({ aborted }) => aborted)) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        cancel();
        for (const forget of forgets) forget();
        resolve();
      };
      const cancel = wire.clock.after(this.#retryMs, done);
      const forgets = signals.map((each) => onAbort(each, done));
    });
  }
}
