import { setTimeout as sleep } from 'node:timers/promises';
import { machineNow } from './clock.js';
import type { Fleet, FleetTotals } from './fleet.js';

/** Requests that do not stop are waited for no longer than this. */
const PATIENCE_MS = 5_000;

/** Waits until the fleet has heard no request for `quietMs`, and returns what it heard so far. */
export async function settled(fleet: Fleet, quietMs = 600): Promise<FleetTotals> {
  let totals = await fleet.totals();
  const endsAt = machineNow() + PATIENCE_MS;
  for (let since = machineNow(); machineNow() - since < quietMs && machineNow() < endsAt; ) {
    await sleep(100);
    const next = await fleet.totals();
    if (JSON.stringify(next.requests) !== JSON.stringify(totals.requests)) since = machineNow();
    totals = next;
  }
  return totals;
}

/** Waits until the fleet is as `isSo` wants it, or for `timeoutMs`, and returns how it is then. */
export async function totalsWhen(fleet: Fleet, isSo: (totals: FleetTotals) => boolean, timeoutMs = 5_000): Promise<FleetTotals> {
  const endsAt = machineNow() + timeoutMs;
  for (;;) {
    const totals = await fleet.totals();
    if (isSo(totals) || machineNow() > endsAt) return totals;
    await sleep(50);
  }
}
