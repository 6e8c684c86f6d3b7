import { getEventListeners } from 'node:events';
import { onCleanup } from '../support/cleanup.js';

/** Counts, from now until the test is over, the listeners on all abort signals that are still in memory. */
export function watchAbortListeners(): () => number {
  const signals = new Set<WeakRef<AbortSignal>>();
  const known = new WeakSet<AbortSignal>();
  const original = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function (this: EventTarget, ...args: Parameters<typeof original>) {
    if (this instanceof AbortSignal && !known.has(this)) {
      known.add(this);
      signals.add(new WeakRef(this));
    }
    return original.apply(this, args);
  };
  onCleanup(() => {
    EventTarget.prototype.addEventListener = original;
  });
  return () => {
    let count = 0;
    for (const each of signals) {
      const signal = each.deref();
      if (signal === undefined) signals.delete(each);
      else count += getEventListeners(signal, 'abort').length;
    }
    return count;
  };
}
