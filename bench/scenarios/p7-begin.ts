import { setTimeout as sleep } from 'node:timers/promises';
import { machineNow } from '../harness/clock.js';
import { type Contestant, firstSeen } from '../harness/contestant.js';
import { FLOOR } from '../harness/contestant-process.js';
import type { Fleet } from '../harness/fleet.js';
import { startService } from '../harness/service.js';
import type { Witness } from '../harness/witness.js';

/** The tools of each toolset: a run that is shown so many is a run with tools. */
const TOOLS = 17;
/** Who has not served the toolset that hung after this time is said not to serve it. */
export const PATIENCE_MS = 10_000;

/** A contestant that has been started, and may still wait for toolsets. */
export interface Beginning {
  /** When it took, or would take, its first run. */
  readonly runAt: Promise<number>;
  /** When the toolset was served, at the earliest from now on. */
  servedAt(toolset: string): Promise<number>;
  stop(): Promise<void>;
}

export type Begin = (fleet: Fleet) => Promise<Beginning>;

export async function beginOurs(fleet: Fleet, witness: Witness): Promise<Beginning> {
  const service = await startService(fleet, { untilListening: true, modelUrl: witness.modelUrl });
  let over = false;
  const firstRun = async () => {
    while (!over) {
      const run = await witness.run(service);
      if (run !== undefined && run.tools >= TOOLS) return run.takenAt;
      await sleep(20);
    }
    throw new Error('The service was stopped before it took a run.');
  };
  const runAt = firstRun();
  runAt.catch(() => undefined);
  return {
    runAt,
    servedAt: (toolset) => firstSeen(service, toolset).of(0, PATIENCE_MS),
    async stop() {
      over = true;
      await service.process.stop('SIGKILL');
    },
  };
}

/** The floor has no runs. It could take one as soon as the first toolset has answered. */
export async function beginFloor(fleet: Fleet): Promise<Beginning> {
  const running = FLOOR.begin(fleet);
  running.started.catch(() => undefined);
  const first = new Promise<number>((resolve) => {
    running.onServed(({ at }) => resolve(at));
  });
  return {
    runAt: first,
    servedAt: (toolset) => firstSeen(running, toolset).of(0, PATIENCE_MS),
    stop: () => running.process.stop('SIGKILL'),
  };
}

/** A peer takes runs when its start is over: before that its user has no agent. */
export async function beginPeer(peer: Contestant, fleet: Fleet): Promise<Beginning> {
  const starting = peer.start(fleet);
  const runAt = starting.then(() => machineNow());
  runAt.catch(() => undefined);
  return {
    runAt,
    async servedAt(toolset) {
      const running = await starting;
      const seen = firstSeen(running, toolset);
      // A start that waited for the toolset has served it before anybody could listen.
      return (await running.serves(toolset)) === undefined ? seen.of(0, PATIENCE_MS) : machineNow();
    },
    async stop() {
      const running = await starting.catch(() => undefined);
      await running?.process.stop('SIGKILL');
    },
  };
}
