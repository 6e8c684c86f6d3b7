import { createParser } from 'eventsource-parser';
import { type FeedEvent, feedEventSchema } from '../../src/http/event-schemas.js';
import { onCleanup } from './cleanup.js';
import { until } from './until.js';

type EventOf<Type extends FeedEvent['type']> = Extract<FeedEvent, { type: Type }>;

/** A client of `GET /refresh/events`. Every event is checked against its schema. */
export interface FeedClient {
  readonly events: readonly FeedEvent[];
  /** Waits for an event of this type that fits, and returns it. */
  next<Type extends FeedEvent['type']>(type: Type, fits?: (event: EventOf<Type>) => boolean): Promise<EventOf<Type>>;
  readonly comments: readonly string[];
  readonly ended: () => boolean;
  leave(): void;
}

export interface FeedClientOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
}

/** Connects and returns when the stream is open. It ends with the test. */
export async function followFeed(baseUrl: string, { headers = {}, query = '' }: FeedClientOptions = {}): Promise<FeedClient> {
  const gone = new AbortController();
  onCleanup(async () => gone.abort());
  const response = await fetch(`${baseUrl}/refresh/events${query}`, { headers, signal: gone.signal });
  if (response.status !== 200) throw new Error(`The feed was answered with ${response.status}: ${await response.text()}`);
  const events: FeedEvent[] = [];
  const comments: string[] = [];
  const problems: unknown[] = [];
  let opened = false;
  let ended = false;
  const parser = createParser({
    onEvent: ({ id, event, data }) => {
      const read = feedEventSchema.safeParse(JSON.parse(data));
      if (read.data === undefined || read.data.id !== id || read.data.type !== event) problems.push({ id, event, data, error: read.error });
      else events.push(read.data);
    },
    onRetry: () => {
      opened = true;
    },
    onComment: (comment) => void comments.push(comment),
  });
  const decoder = new TextDecoder();
  (async () => {
    for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }));
  })().then(
    () => {
      ended = true;
    },
    () => {
      // The test left, or the service was cut off; both end the stream.
      ended = true;
    },
  );
  const check = () => {
    if (problems.length > 0) throw new Error(`An event is not as its schema says: ${JSON.stringify(problems)}`);
  };
  await until(() => opened, { what: 'the feed to open' });
  return {
    events,
    comments,
    ended: () => ended,
    next: <Type extends FeedEvent['type']>(type: Type, fits: (event: EventOf<Type>) => boolean = () => true) =>
      until(
        () => {
          check();
          const found = events.find((event) => event.type === type && fits(event as EventOf<Type>));
          if (found === undefined) throw new Error(`There were ${events.map((event) => event.type).join(', ')}.`);
          return found as EventOf<Type>;
        },
        { what: `an event ${type}`, timeoutMs: 15_000 },
      ) as Promise<EventOf<Type>>,
    leave: () => gone.abort(),
  };
}
