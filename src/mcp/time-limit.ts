import { setMaxListeners } from 'node:events';
import type { Clock } from '../core/ports.js';

/**
 * Runs something when the signal is aborted; answers a function that takes this back. Hundreds may wait on one signal, so
 * Node's warning about more than ten listeners, which means a leak elsewhere, is turned off for it.
 */
export function onAbort(signal: AbortSignal, run: () => void): () => void {
  setMaxListeners(0, signal);
  signal.addEventListener('abort', run, { once: true });
  return () => signal.removeEventListener('abort', run);
}

/** A signal that is aborted after a while, or when another signal is. Call `end` when it is no longer needed. */
export interface TimeLimit {
  readonly signal: AbortSignal;
  /** True when the time ran out, false when the other signal was aborted or nothing happened yet. */
  expired(): boolean;
  end(): void;
}

/** Bounds something in time, by the clock that is handed in. */
export function timeLimit(options: { readonly clock: Clock; readonly ms: number; readonly signal?: AbortSignal | undefined }): TimeLimit {
  const controller = new AbortController();
  let expired = false;
  const { signal } = options;
  const follow = () => controller.abort(signal?.reason);
  if (signal?.aborted) follow();
  const unfollow = signal === undefined ? undefined : onAbort(signal, follow);
  const cancel = options.clock.after(options.ms, () => {
    expired = true;
    controller.abort(new Error(`No answer within ${options.ms} ms.`));
  });
  return {
    signal: controller.signal,
    expired: () => expired,
    end: () => {
      cancel();
      unfollow?.();
    },
  };
}

/** A signal that is aborted as soon as one of these is, for the same reason. Call `end` when it is no longer needed. */
export function firstOf(signals: readonly AbortSignal[]): { readonly signal: AbortSignal; readonly end: () => void } {
  const controller = new AbortController();
  const follow = () => controller.abort(signals.find(({ aborted }) => aborted)?.reason);
  const forget = signals.map((signal) => onAbort(signal, follow));
  if (signals.some(({ aborted }) => aborted)) follow();
  return {
    signal: controller.signal,
    end: () => {
      for (const each of forget) each();
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
    const forget = onAbort(signal, () => reject(signal.reason));
    promise.then(resolve, reject).finally(forget);
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
