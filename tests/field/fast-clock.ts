import type { Clock } from '../../src/core/ports.js';
import { systemClock } from '../../src/system-clock.js';

/**
 * A real clock that runs `factor` times as fast, so that a minute of the service's time fits into a test. A slow machine makes
 * that minute hold fewer events, never more: it suits what must not happen too often.
 */
export function fastClock(factor: number): Clock {
  return {
    now: () => systemClock.now() * factor,
    date: () => systemClock.date(),
    random: () => systemClock.random(),
    after: (delayMs, run) => systemClock.after(delayMs / factor, run),
  };
}
