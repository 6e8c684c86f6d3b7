import { setTimeout as sleep } from 'node:timers/promises';
import { machineNow } from './clock.js';
import { firstSeen, type Running } from './contestant.js';
import type { Change, Fleet } from './fleet.js';
import type { RunningService } from './service.js';

const TIMEOUT_MS = 20_000;

/**
 * Changes one toolset, announces it, and waits until that is served. Returns how long it took in milliseconds, to about one millisecond.
 * The service is only listened to: a question about each change would count among what the change costs.
 */
export async function oneChange(running: Running | RunningService, { fleet, toolset }: { fleet: Fleet; toolset: string }): Promise<number> {
  if (!('generations' in running)) {
    const seen = firstSeen(running, toolset);
    const { revision, changedAt } = await change(fleet, toolset);
    return (await seen.of(revision, TIMEOUT_MS)) - changedAt;
  }
  const before = running.generations();
  const { changedAt } = await change(fleet, toolset);
  while (running.generations() === before) {
    if (machineNow() > changedAt + TIMEOUT_MS) throw new Error(`The change of ${toolset} was not served within ${TIMEOUT_MS} ms.`);
    await sleep(1);
  }
  return machineNow() - changedAt;
}

async function change(fleet: Fleet, toolset: string): Promise<Change> {
  const [made] = await fleet.change([toolset]);
  if (made === undefined) throw new Error(`${toolset} was not changed.`);
  return made;
}
