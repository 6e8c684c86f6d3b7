import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

export interface UntilOptions {
  /** How long to try, in milliseconds. */
  timeoutMs?: number;
  /** What is waited for, to complete the sentence "Waited … for". */
  what?: string;
}

const POLL_MS = 7;

/** Asks again and again until the answer is truthy, and returns it. An assertion that throws counts as "not yet". Fails with the last answer after `timeoutMs`. */
export async function until<T>(
  check: () => T | Promise<T>,
  { timeoutMs = 10_000, what = check.toString() }: UntilOptions = {},
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const answer = await check();
      if (answer) return answer;
      last = answer;
    } catch (error) {
      // The condition may be an assertion that does not hold yet; if it never does, the error below carries it.
      last = error;
    }
    if (performance.now() >= deadline) {
      throw new Error(`Waited ${timeoutMs} ms for ${what}; the last answer was ${inspect(last, { depth: 3 })}`, { cause: last });
    }
    await sleep(POLL_MS);
  }
}

/** Watches for `durationMs` that the condition stays truthy: for what must not happen. Fails as soon as it does not hold. */
export async function stays(
  check: () => unknown,
  { durationMs, what = check.toString() }: { durationMs: number; what?: string },
): Promise<void> {
  const deadline = performance.now() + durationMs;
  while (performance.now() < deadline) {
    if (!(await check())) throw new Error(`Did not stay as it was: ${what}`);
    await sleep(POLL_MS);
  }
}
