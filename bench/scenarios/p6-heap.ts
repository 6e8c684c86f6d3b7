import { setTimeout as sleep } from 'node:timers/promises';
import type { Fleet } from '../harness/fleet.js';
import { ADMIN, type RunningService, startService } from '../harness/service.js';
import { slope } from '../harness/statistics.js';

/** The heap is measured so often while the toolsets are listed. */
export const HEAP_SAMPLES = 10;

export interface HeapSizes {
  /** How often all toolsets are listed before the heap is first measured, and after. */
  readonly warmUpCycles: number;
  readonly cycles: number;
}

/** By how many bytes the heap grows with each list of an unchanged toolset. */
export async function heapPerList(fleet: Fleet, sizes: HeapSizes): Promise<number> {
  const service = await startService(fleet, { pollSeconds: 0, debounceMs: 0 });
  try {
    await listAll(service, sizes.warmUpCycles);
    const samples: [lists: number, heap: number][] = [];
    for (let sample = 0; sample <= HEAP_SAMPLES; sample++) {
      if (sample > 0) await listAll(service, sizes.cycles / HEAP_SAMPLES);
      // What the last answers have left behind is let go of a moment later.
      await sleep(50);
      samples.push([(sample * sizes.cycles * fleet.toolsets.length) / HEAP_SAMPLES, (await service.process.memory()).heap]);
    }
    return slope(samples);
  } finally {
    await service.process.stop('SIGKILL');
  }
}

async function listAll(service: RunningService, times: number): Promise<void> {
  for (let cycle = 0; cycle < times; cycle++) {
    const response = await fetch(new URL('/refresh', service.baseUrl), { method: 'POST', headers: ADMIN });
    const { outcome } = (await response.json()) as { outcome?: string };
    if (outcome !== 'unchanged') throw new Error(`A refresh of unchanged toolsets came to ${outcome ?? response.status}.`);
  }
}
