import type { Clock } from './core/ports.js';

/** Node's timers overflow above 2^31 - 1 ms and would fire at once; longer delays go in steps of at most this. */
const LONGEST_STEP_MS = 2 ** 30;

/** Real time and real chance. */
export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  random: () => Math.random(),
  after(delayMs, run) {
    const endAt = performance.now() + delayMs;
    let timer: NodeJS.Timeout;
    const arm = (): void => {
      const left = endAt - performance.now();
      timer = setTimeout(left > LONGEST_STEP_MS ? arm : run, Math.max(0, Math.min(left, LONGEST_STEP_MS)));
    };
    arm();
    return () => clearTimeout(timer);
  },
};
