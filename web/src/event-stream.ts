import { createParser } from 'eventsource-parser';
import { ask } from './api.js';

export interface StreamedEvent {
  readonly id: string | undefined;
  readonly data: string;
}

/**
 * Follows a route of server-sent events until it ends. The browser's own EventSource cannot send a token. Throws an ApiProblem when it is
 * refused, and whatever `fetch` throws when the connection breaks.
 */
export async function followEvents(
  path: string,
  { onOpen, onEvent, signal }: { onOpen: () => void; onEvent: (event: StreamedEvent) => void; signal: AbortSignal },
): Promise<void> {
  const { body } = await ask(path, { signal });
  if (body === null) return;
  onOpen();
  const parser = createParser({ onEvent: ({ id, data }) => onEvent({ id, data }) });
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    parser.feed(value);
  }
}
