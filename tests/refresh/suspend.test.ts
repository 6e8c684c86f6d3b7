import type { Clock } from '../../src/core/ports.js';
import { watchForSuspend } from '../../src/refresh/suspend.js';
import { ManualClock } from '../support/manual-clock.js';

/** A machine that can sleep: then the wall clock moves on, while the monotonic clock and all timers stand still. */
function startMachine() {
  const awake = new ManualClock();
  let sleptMs = 0;
  const clock: Clock = {
    now: () => awake.now(),
    date: () => new Date(awake.date().getTime() + sleptMs),
    after: (delayMs, run) => awake.after(delayMs, run),
    random: () => awake.random(),
  };
  const sleep = (ms: number) => {
    sleptMs += ms;
  };
  return { clock, awake, sleep };
}

test('a machine that slept is noticed within 15 s, once for each time, and a clock that is set by seconds is no sleep', async () => {
  const { clock, awake, sleep } = startMachine();
  const jumps: number[] = [];
  const stop = watchForSuspend(clock, () => void jumps.push(clock.now()));
  await awake.advance(3_600_000);
  sleep(29_000);
  await awake.advance(60_000);
  expect(jumps).toEqual([]);
  const wokeAt = awake.now();
  sleep(8 * 3_600_000);
  await awake.advance(15_000);
  expect(jumps).toHaveLength(1);
  expect((jumps[0] ?? 0) - wokeAt).toBeLessThanOrEqual(15_000);
  await awake.advance(3_600_000);
  expect(jumps).toHaveLength(1);
  sleep(31_000);
  await awake.advance(15_000);
  expect(jumps).toHaveLength(2);
  stop();
  expect(awake.pending).toBe(0);
});

test('a wall clock that is set back is no sleep', async () => {
  const { clock, awake, sleep } = startMachine();
  let jumps = 0;
  watchForSuspend(clock, () => void jumps++);
  sleep(-86_400_000);
  await awake.advance(60_000);
  expect(jumps).toBe(0);
});
