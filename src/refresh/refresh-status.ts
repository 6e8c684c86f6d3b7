import type { Clock } from '../core/ports.js';
import type { ReplicaLink } from '../core/replicas.js';
import { heldClasses } from '../core/review.js';
import type { RefreshStatus } from '../core/status.js';
import type { History } from './history.js';
import type { GenerationSlot } from './slot.js';
import { reportRefresh } from './status-report.js';
import type { Watcher } from './watcher.js';

export interface RefreshStatusInput {
  readonly watcher: Watcher;
  readonly slot: Pick<GenerationSlot<unknown>, 'current' | 'draining'>;
  readonly history: History;
  readonly link: ReplicaLink | undefined;
  readonly clock: Clock;
}

/** `GET /refresh` (CONTRACT.md 9.2), but for what does not change while the process lives. */
export function refreshStatus({
  watcher,
  slot,
  history,
  link,
  clock,
}: RefreshStatusInput): Omit<RefreshStatus, 'instance' | 'everySeconds'> {
  const { pool, toolsets, index, rounds } = watcher;
  return {
    rounds: history.counts,
    last: history.last,
    draining: slot.draining(),
    replicas: link?.replicas() ?? [],
    replicasDifferSince: link?.differSince ?? null,
    ...reportRefresh({
      now: clock.now(),
      date: clock.date(),
      current: slot.current,
      toolsets,
      urlOf: (id) => watcher.urlOf(id),
      sessionOf: (id) => pool.status(id),
      heldClasses: (toolset) => heldClasses(rounds, toolset),
      index,
    }),
  };
}
