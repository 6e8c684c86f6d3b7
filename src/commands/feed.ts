import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { Clock } from '../core/ports.js';
import { type FeedEvent, feedEventSchema } from './answers.js';
import type { Service } from './service.js';
import { CommandFailure } from './terminal.js';

/** The service sends a comment every 15 s; a stream that was silent for three of them is dead, whatever the socket says. */
const SILENCE_MS = 45_000;

export interface FeedOptions {
  readonly service: Service;
  readonly clock: Clock;
  /** The last event that was read; the service sends what came after it. */
  readonly lastEventId: string | undefined;
  readonly signal: AbortSignal;
}

export interface ReadEvent {
  /** For `Last-Event-ID`. */
  readonly id: string | undefined;
  readonly event: FeedEvent;
}

/** One connection to `GET /refresh/events`. */
export interface Feed {
  /** The events as they come. Ends when the service ends the stream; throws a CommandFailure when it breaks, or the signal's reason. */
  readonly events: AsyncIterable<ReadEvent>;
}

/** Opens the feed; resolves when the service has accepted. Throws a CommandFailure, or the signal's reason. */
export async function openFeed({ service, clock, lastEventId, signal }: FeedOptions): Promise<Feed> {
  const silent = new AbortController();
  const ended = AbortSignal.any([signal, silent.signal]);
  const headers = { accept: 'text/event-stream', ...(lastEventId !== undefined && { 'last-event-id': lastEventId }) };
  const response = await service.request('refresh/events', { headers, signal: ended });
  const { body } = response;
  if (body === null || !response.headers.get('content-type')?.startsWith('text/event-stream'))
    throw new CommandFailure('refused', `What answers at ${service.url} has no event stream.`);
  return { events: read(body, { signal, silent, clock }) };
}

interface Reading {
  readonly signal: AbortSignal;
  readonly silent: AbortController;
  readonly clock: Clock;
}

async function* read(body: ReadableStream<Uint8Array>, { signal, silent, clock }: Reading): AsyncGenerator<ReadEvent> {
  const decoder = new TextDecoder();
  const messages: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (message) => messages.push(message) });
  let cancel: () => void = () => undefined;
  const heard = (): void => {
    cancel();
    cancel = clock.after(SILENCE_MS, () => silent.abort());
  };
  heard();
  try {
    for await (const chunk of body) {
      heard();
      parser.feed(decoder.decode(chunk, { stream: true }));
      for (const { id, data } of messages.splice(0)) {
        const event = feedEventSchema.safeParse(parsed(data));
        if (event.success) yield { id, event: event.data };
      }
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new CommandFailure('away', 'The stream of events broke.', { cause: error });
  } finally {
    cancel();
  }
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    // What is no JSON is no event of ours; the next one may be.
    return undefined;
  }
}
