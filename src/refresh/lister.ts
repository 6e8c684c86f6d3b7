import pRetry from 'p-retry';
import { CodedError } from '../core/errors.js';
import { Places } from '../core/places.js';
import type { Clock, ToolsetList, ToolsetSession } from '../core/ports.js';
import type { EndedList } from '../core/refresher-events.js';

/** CONTRACT.md 3.3: lists and connects that may be in flight at once. */
const LISTS = 8;
const LISTS_PER_ORIGIN = 4;
const CONNECTS = 24;
/** A failed try is repeated up to twice, and no later than this after the first one began. */
const REPEATS = 2;
const REPEAT_WITHIN_MS = 2_000;
/** A place is given up after this, although what it was taken for goes on. */
const PLACE_MS = 2_000;

export interface ListAsk<Result> {
  readonly session: ToolsetSession;
  /** Makes what is wanted of the complete list; when it throws, that counts as a failed try. */
  readonly read: (list: ToolsetList) => Result;
  /** A toolset that said that it changed goes first. */
  readonly notified: boolean;
  /** Called once, when the list has its place and begins. */
  readonly onStarted: () => void;
}

interface Running {
  leavePlace(): void;
  readonly abort: AbortController;
}

/** Carries out lists: connects where needed, keeps to the limits, repeats a failed try, and bounds the whole. */
export class Lister {
  readonly #connects = new Places({ total: CONNECTS });
  readonly #lists = new Places({ total: LISTS, perOrigin: LISTS_PER_ORIGIN });
  readonly #running = new Map<number, Running>();
  readonly #timeoutMs: number;
  readonly #clock: Clock;
  readonly #onEnded: (list: EndedList) => void;

  constructor({ timeoutMs, clock, onEnded }: { timeoutMs: number; clock: Clock; onEnded: (list: EndedList) => void }) {
    this.#timeoutMs = timeoutMs;
    this.#clock = clock;
    this.#onEnded = onEnded;
  }

  /** What `read` makes of the toolset's complete list. Throws a CodedError. */
  async list<Result>(number: number, { session, read, notified, onStarted }: ListAsk<Result>): Promise<Result> {
    const abort = new AbortController();
    const { signal } = abort;
    const origin = new URL(session.endpoint.url).origin;
    let place: HeldPlace | undefined;
    let cancelGivingUp: () => void = () => undefined;
    let timedOut = false;
    let cancelTimeout: () => void = () => undefined;
    let beganAt: number | undefined;
    const ended = (error: CodedError | null) => {
      if (beganAt !== undefined) this.#onEnded({ toolset: session.endpoint.name, durationMs: this.#clock.now() - beganAt, error });
    };
    this.#running.set(number, {
      abort,
      leavePlace: () => place?.leave(),
    });
    const takePlace = async (places: Places): Promise<void> => {
      // Giving a place up only to wait for it again would count as running what only waits.
      if (place?.among === places && place.isHeld()) return;
      place?.leave();
      cancelGivingUp();
      // Also a list whose connection took so long that its round went on without it waits for its turn among the lists.
      const taken = heldPlace(places, await places.take({ origin, priority: notified ? 1 : 0, signal }));
      place = taken;
      cancelGivingUp = this.#clock.after(PLACE_MS, () => taken.leave());
    };
    const takeFirstPlace = () => takePlace(session.status().push === 'connecting' ? this.#connects : this.#lists);
    try {
      await takeFirstPlace();
      const firstTryAt = this.#clock.now();
      beganAt = firstTryAt;
      cancelTimeout = this.#clock.after(this.#timeoutMs, () => {
        timedOut = true;
        abort.abort();
      });
      onStarted();
      const result = await pRetry(
        async (attempt) => {
          if (attempt > 1) await takeFirstPlace();
          await session.connect(signal);
          await takePlace(this.#lists);
          return read(await session.list(signal));
        },
        {
          retries: REPEATS,
          minTimeout: 100,
          factor: 3,
          randomize: true,
          signal,
          // Others may list while this one waits for its next try.
          onFailedAttempt: () => place?.leave(),
          shouldRetry: ({ error }) => isWorthRepeating(error) && this.#clock.now() - firstTryAt < REPEAT_WITHIN_MS / 2,
        },
      );
      ended(null);
      return result;
    } catch (error) {
      const failure = timedOut ? this.#timeout(error) : asFailure(error);
      ended(failure);
      throw failure;
    } finally {
      cancelTimeout();
      cancelGivingUp();
      place?.leave();
      this.#running.delete(number);
    }
  }

  #timeout(cause: unknown): CodedError {
    return new CodedError('LIST_TIMEOUT', `The tool list was not complete within ${this.#timeoutMs / 1_000} s.`, { cause });
  }

  /** The list goes on, but others may have its place. */
  leavePlace(number: number): void {
    this.#running.get(number)?.leavePlace();
  }

  cancelAll(): void {
    for (const { abort } of this.#running.values()) abort.abort();
  }
}

/** A place that knows whether it is still held. */
interface HeldPlace {
  readonly among: Places;
  isHeld(): boolean;
  leave(): void;
}

function heldPlace(among: Places, place: { leave(): void }): HeldPlace {
  let held = true;
  return {
    among,
    isHeld: () => held,
    leave: () => {
      held = false;
      place.leave();
    },
  };
}

function asFailure(error: unknown): CodedError {
  return error instanceof CodedError ? error : new CodedError('TOOLSET_UNREACHABLE', 'The tool list failed.', { cause: error });
}

/** A refusal, and a server that asked us to wait, get no second try right away. */
function isWorthRepeating(error: unknown): boolean {
  if (!(error instanceof CodedError)) return true;
  if (error.retryAfterMs !== undefined) return false;
  return !['TOOLSET_UNAUTHORIZED', 'TOOLSET_RATE_LIMITED', 'LIST_TOO_LARGE', 'SESSION_CLOSED'].includes(error.code);
}
