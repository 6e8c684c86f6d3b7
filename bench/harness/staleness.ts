import type { Served } from './contestant.js';
import type { Change } from './fleet.js';

/**
 * The greatest age of what was served while a toolset changed again and again, in milliseconds: at each moment, how long ago the oldest
 * change was made that is not served yet. `untilAt` ends the observation: what is not served by then has that age at least.
 */
export function greatestAge(changes: readonly Change[], { served, untilAt }: { served: readonly Served[]; untilAt: number }): number {
  const ages = changes.map(({ revision, changedAt }) => {
    const seenAt = served.filter((one) => one.revision >= revision).map(({ at }) => at);
    return Math.min(untilAt, ...seenAt) - changedAt;
  });
  return Math.max(0, ...ages);
}
