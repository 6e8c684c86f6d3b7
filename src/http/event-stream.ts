import type { Response } from 'express';
import type { Clock } from '../core/ports.js';

/** How often a comment keeps the stream open through proxies (CONTRACT.md 7.9). */
const KEEP_ALIVE_MS = 15_000;

/** How long a client that reads nothing may keep the last bytes waiting after the stream ended. */
const LINGER_MS = 10_000;

/** A response that is a stream of server-sent events. */
export interface EventStream {
  /** Writes one event, or several at once; resolves when the client has taken enough to go on, has left, or the signal is aborted. */
  send(events: string, signal: AbortSignal): Promise<void>;
  end(): void;
}

/** Sends the headers of an event stream at once, and a comment every 15 seconds until its end. Nothing on the way may buffer or compress it. */
export function openEventStream(res: Response, clock: Clock): EventStream {
  res.statusCode = 200;
  res.setHeader('content-type', 'text/event-stream');
  res.setHeader('cache-control', 'no-cache, no-transform');
  res.setHeader('x-accel-buffering', 'no');
  res.socket?.setNoDelay(true);
  res.flushHeaders();
  const stopKeepAlive = every(clock, KEEP_ALIVE_MS, () => {
    if (!res.writableNeedDrain) res.write(': keep-alive\n\n');
  });
  res.once('close', stopKeepAlive);
  return {
    async send(events, signal) {
      if (res.destroyed || res.writableEnded) return;
      if (!res.write(events)) await writable(res, signal);
    },
    end() {
      stopKeepAlive();
      res.end();
      if (res.destroyed) return;
      const stopLingering = clock.after(LINGER_MS, () => res.destroy());
      res.once('close', stopLingering);
    },
  };
}

/** Resolves when the response takes more, is closed, or the signal is aborted. */
function writable(res: Response, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      res.off('drain', done).off('close', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    res.once('drain', done).once('close', done);
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted || res.destroyed) done();
  });
}

function every(clock: Clock, intervalMs: number, run: () => void): () => void {
  let cancel = () => {};
  const schedule = () => {
    cancel = clock.after(intervalMs, () => {
      run();
      schedule();
    });
  };
  schedule();
  return () => cancel();
}
