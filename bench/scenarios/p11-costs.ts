import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { machineNow } from '../harness/clock.js';
import { type Fleet, startFleet } from '../harness/fleet.js';
import { oneChange } from '../harness/one-change.js';
import { ADMIN, type RunningService, type ServiceOptions, startService } from '../harness/service.js';
import { quantile } from '../harness/statistics.js';
import { copyThread } from '../harness/threads.js';
import { startWitness } from '../harness/witness.js';

/** What one change costs, in milliseconds: CPU time on average, and the middle of the times until it was served. */
export interface ChangeCost {
  readonly cpu: number;
  readonly served: number;
}

/** What is in use after a garbage collection. */
export interface InUse {
  readonly heap: number;
  readonly timers: number;
  readonly sockets: number;
}

/** A toolset that changes again sooner than this after its last swap is made to wait (`paceMs` in src/core/swap-tokens.ts). */
const REST_MS = 300;

/**
 * Makes so many changes, one after another, each of the next toolset, and says what one of them cost. Where there are few toolsets it pauses,
 * so that none of them is made to wait for having changed just before.
 */
export async function costOfChanges(
  service: RunningService,
  { fleet, changes, from = 0 }: { fleet: Fleet; changes: number; from?: number },
): Promise<ChangeCost> {
  const before = await service.process.cpuMs();
  const times: number[] = [];
  const restsUntil = new Map<string, number>();
  for (let number = from; number < from + changes; number++) {
    const toolset = `t${number % fleet.toolsets.length}`;
    const restMs = (restsUntil.get(toolset) ?? 0) - machineNow();
    if (restMs > 0) await sleep(restMs);
    times.push(await oneChange(service, { fleet, toolset }));
    restsUntil.set(toolset, machineNow() + REST_MS);
  }
  return { cpu: ((await service.process.cpuMs()) - before) / changes, served: quantile(times, 0.5) };
}

/** CPU time per toolset when all of them are listed and none has changed, in milliseconds. */
export async function costOfPoll(service: RunningService, { fleet, cycles }: { fleet: Fleet; cycles: number }): Promise<number> {
  const listAll = async () => {
    const response = await fetch(new URL('/refresh', service.baseUrl), { method: 'POST', headers: ADMIN });
    await response.arrayBuffer();
  };
  await listAll();
  const before = await service.process.cpuMs();
  for (let cycle = 0; cycle < cycles; cycle++) await listAll();
  return ((await service.process.cpuMs()) - before) / cycles / fleet.toolsets.length;
}

export async function inUse(service: RunningService, fleet: Fleet): Promise<InUse> {
  // What the last answers have left behind is let go of a moment later.
  await sleep(1_000);
  const { heap } = await service.process.memory();
  const { Timeout: timers = 0 } = await service.process.resources();
  return { heap, timers, sockets: (await fleet.totals()).sockets };
}

/** Starts a service without a window on a fleet of this size, does the work, and ends both. */
export async function withService<T>(
  toolsets: number,
  work: (place: { service: RunningService; fleet: Fleet }) => Promise<T>,
  options: ServiceOptions = {},
): Promise<T> {
  const fleet = await startFleet({ toolsets });
  try {
    const service = await startService(fleet, { debounceMs: 0, pollSeconds: 0, ...options });
    try {
      return await work({ service, fleet });
    } finally {
      await service.process.stop('SIGKILL');
    }
  } finally {
    await fleet.stop();
  }
}

/** What a change costs with so many threads in memory, each of one turn. */
export async function costWithThreadsInMemory(threads: number, sizes: { toolsets: number; changes: number }): Promise<ChangeCost> {
  const witness = await startWitness();
  try {
    const work = async ({ service, fleet }: { service: RunningService; fleet: Fleet }) => {
      for (let run = 0; run < threads; run++) await witness.run(service);
      await costOfChanges(service, { fleet, changes: sizes.toolsets });
      return costOfChanges(service, { fleet, changes: sizes.changes });
    };
    return await withService(sizes.toolsets, work, { modelUrl: witness.modelUrl });
  } finally {
    await witness.stop();
  }
}

/** What a change costs with so many threads in an SQLite file: one turn is run, and its thread is copied. */
export async function costWithThreadsInSqlite(threads: number, sizes: { toolsets: number; changes: number }): Promise<ChangeCost> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-threads-'));
  const witness = await startWitness();
  try {
    const file = join(folder, 'threads.sqlite');
    const options = { modelUrl: witness.modelUrl, env: { MCP_AGENT_CHECKPOINT: `sqlite:${file}` } };
    if (threads > 0) {
      const fleet = await startFleet({ toolsets: 1 });
      try {
        const service = await startService(fleet, options);
        await witness.run(service);
        await service.stop();
      } finally {
        await fleet.stop();
      }
      copyThread(file, { copies: threads - 1 });
    }
    const work = async ({ service, fleet }: { service: RunningService; fleet: Fleet }) => {
      await costOfChanges(service, { fleet, changes: sizes.toolsets });
      return costOfChanges(service, { fleet, changes: sizes.changes });
    };
    return await withService(sizes.toolsets, work, options);
  } finally {
    await witness.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
