import type { Clock } from '../core/ports.js';

/** A signal that is aborted after a while, or when another signal is. Call `end` when it is no longer needed. */
export interface TimeLimit {
  readonly signal: AbortSignal;
  /** True when the time ran out, false when the other signal was aborted or nothing happened yet. */
  expired(): boolean;
  end(): void;
}

/** Bounds something in time, by the clock that is handed in. */
export function timeLimit(options: { readonly clock: Clock; readonly ms: number; readonly signal?: AbortSignal }): TimeLimit {
  const controller = new AbortController();
  let expired = false;
  const follow = () => controller.abort(options.signal?.reason);
  if (options.signal?.aborted) follow();
  else options.signal?.addEventListener('abort', follow, { once: true });
  const cancel = options.clock.after(options.ms, () => {
    expired = true;
    controller.abort(new Error(`No answer within ${options.ms} ms.`));
  });
  return {
    signal: controller.signal,
    expired: () => expired,
    end: () => {
      cancel();
      options.signal?.removeEventListener('abort', follow);
    },
  };
}

/** Settles as the promise does, or rejects with the signal's reason if that is aborted first. The promise itself goes on. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    // The caller no longer waits; whoever started the work handles its failure.
    promise.catch(() => undefined);
    return Promise.reject(signal.reason);
  }
  return new Promise<T>((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/** Waits for the promise to settle, either way, but not longer than `ms`. Never rejects. */
export async function settledWithin(options: {
  readonly clock: Clock;
  readonly ms: number;
  readonly promise: Promise<unknown>;
}): Promise<void> {
  await new Promise<void>((resolve) => {
    const cancel = options.clock.after(options.ms, resolve);
    const done = () => {
      cancel();
      resolve();
    };
    options.promise.then(done, done);
  });
}
