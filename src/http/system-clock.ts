import type { Clock } from '../core/ports.js';

/** The longest delay that a Node timer takes; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** The machine's time and chance, for hosts that hand in no clock. Its timers do not keep the process alive. */
export function createSystemClock(): Clock {
  return { now: () => performance.now(), date: () => new Date(), after, random: () => Math.random() };
}

/** A delay beyond Node's limit is waited for in pieces. */
function after(delayMs: number, run: () => void): () => void {
  let timer: NodeJS.Timeout;
  const wait = (remainingMs: number) => {
    const pieceMs = Math.min(remainingMs, LONGEST_TIMER_MS);
    timer = setTimeout(() => (remainingMs > pieceMs ? wait(remainingMs - pieceMs) : run()), pieceMs);
    timer.unref();
  };
  wait(delayMs);
  return () => clearTimeout(timer);
}
