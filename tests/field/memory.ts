import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What the JavaScript side of this process holds, in bytes, after everything unreachable was collected. */
export function heldBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  return inUse();
}

/** The most bytes in use while `work` ran, beyond what was held when it began. Garbage counts until it is collected, so this is an upper bound. */
export async function peakBytes(work: () => Promise<unknown>): Promise<number> {
  const before = heldBytes();
  let peak = 0;
  const sample = setInterval(() => {
    peak = Math.max(peak, inUse() - before);
  }, 5);
  try {
    await work();
  } finally {
    clearInterval(sample);
  }
  return Math.max(peak, inUse() - before);
}

function inUse(): number {
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + external + arrayBuffers;
}
