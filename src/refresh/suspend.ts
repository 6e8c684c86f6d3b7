import type { Clock } from '../core/ports.js';

const LOOK_EVERY_MS = 15_000;
const JUMP_MS = 30_000;

/**
 * Calls `onJump` when the wall clock has moved on by more than the monotonic one: the machine slept, and whatever happened
 * meanwhile went unheard (CONTRACT.md 4.9). Returns a function that ends the watch.
 */
export function watchForSuspend(clock: Clock, onJump: () => void): () => void {
  let cancel: () => void;
  let lead = clock.date().getTime() - clock.now();
  const look = (): void => {
    const nowLead = clock.date().getTime() - clock.now();
    if (nowLead - lead > JUMP_MS) onJump();
    lead = nowLead;
    cancel = clock.after(LOOK_EVERY_MS, look);
  };
  cancel = clock.after(LOOK_EVERY_MS, look);
  return () => cancel();
}
