import { createParser, type EventSourceMessage } from 'eventsource-parser';

/** The most bytes that one answer of a toolset may have (CONTRACT.md 14.1). */
export const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** Thrown while an answer is read that has more bytes than allowed; what was read is dropped. */
export class AnswerTooLarge extends Error {
  constructor(maxBytes: number) {
    super(`The answer has more than ${maxBytes} bytes.`);
    this.name = 'AnswerTooLarge';
  }
}

/** A response body, as undici and the platform's fetch both hand it out. */
export type Body = AsyncIterable<Uint8Array> | null;

/** Reads a whole body as UTF-8 text. Throws {@link AnswerTooLarge} as soon as there are more than `maxBytes`. */
export async function readText(body: Body, maxBytes: number): Promise<string> {
  if (body === null) return '';
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = '';
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new AnswerTooLarge(maxBytes);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

export interface EventReading {
  /** The most bytes that one event may have. */
  readonly maxEventBytes: number;
  /** The most bytes that the stream may have as a whole; without it the stream may go on for ever. */
  readonly maxBytes?: number;
  readonly onBytes?: () => void;
  /** A comment line: how servers and proxies keep a quiet stream alive. */
  readonly onComment?: () => void;
  /** The server's `retry:` field, in milliseconds, as sent. */
  readonly onRetry?: (retryMs: number) => void;
}

/** Reads server-sent events, whatever the chunks are in which they arrive. Throws {@link AnswerTooLarge} beyond the bounds. */
export async function* readEvents(body: Body, reading: EventReading): AsyncGenerator<EventSourceMessage, void> {
  if (body === null) return;
  let events: EventSourceMessage[] = [];
  let tooLarge = false;
  const parser = createParser({
    maxBufferSize: reading.maxEventBytes,
    onEvent: (event) => events.push(event),
    onComment: () => reading.onComment?.(),
    onRetry: (retryMs) => reading.onRetry?.(retryMs),
    onError: (error) => {
      // Unknown fields and bad `retry` values are to be ignored (HTML standard, "server-sent events").
      if (error.type === 'max-buffer-size-exceeded') tooLarge = true;
    },
  });
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (reading.maxBytes !== undefined && bytes > reading.maxBytes) throw new AnswerTooLarge(reading.maxBytes);
    reading.onBytes?.();
    parser.feed(decoder.decode(chunk, { stream: true }));
    if (tooLarge) throw new AnswerTooLarge(reading.maxEventBytes);
    const arrived = events;
    events = [];
    yield* arrived;
  }
}
