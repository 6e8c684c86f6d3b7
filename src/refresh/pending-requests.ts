import { CodedError } from '../core/errors.js';
import type { RoundRecord } from '../core/status.js';

interface Pending {
  readonly resolve: (record: RoundRecord) => void;
  readonly reject: (error: unknown) => void;
}

/** Those who asked for a refresh and wait for the round that answers them (CONTRACT.md 3.14). */
export class PendingRequests {
  readonly #pending = new Map<number, Pending>();
  #last = 0;

  /** Hands a new request's number to `ask` and waits for its round; rejects with the signal's reason when that is aborted. */
  wait(ask: (request: number) => void, signal: AbortSignal | undefined): Promise<RoundRecord> {
    this.#last += 1;
    const request = this.#last;
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        if (this.#pending.delete(request)) reject(signal?.reason);
      };
      signal?.addEventListener('abort', abort, { once: true });
      const settled = () => signal?.removeEventListener('abort', abort);
      this.#pending.set(request, {
        resolve: (record) => {
          settled();
          resolve(record);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      });
      ask(request);
    });
  }

  answer(requests: readonly number[], record: RoundRecord): void {
    for (const request of requests) {
      this.#pending.get(request)?.resolve(record);
      this.#pending.delete(request);
    }
  }

  rejectAll(error: unknown): void {
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}

/** What somebody gets who asks a refresher that was stopped. */
export function stopped(): CodedError {
  return new CodedError('SESSION_CLOSED', 'The refresher is stopped.');
}
