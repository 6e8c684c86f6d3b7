import { type FingerprintedTool, fingerprint } from '../core/fingerprint.js';
import type { Clock, Logger } from '../core/ports.js';
import { silentLogger } from '../core/silent-logger.js';
import { systemClock } from '../system-clock.js';

/** Where a host keeps its current agent; `keepFresh` replaces it by one assignment. */
export interface AgentSlot<Built> {
  current: Built;
}

export interface KeepFreshOptions {
  /** How long to wait after one build before the next, in seconds; 0 never builds again. `refreshSeconds()` reads it from the environment. */
  readonly everySeconds: number;
  /** Aborting it ends the polling; a build that is running then is no longer used. */
  readonly signal?: AbortSignal;
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** Called after each swap. */
  readonly onSwap?: (swap: { readonly from: string; readonly to: string }) => void;
}

/**
 * For a host that keeps its own agent and wants only the poll (CONTRACT.md 12.2): runs the same build as at its start on an
 * interval, and puts the result into the slot only when `fingerprint(built.tools)` changed. A build that throws leaves the current
 * agent in place. Two builds never run at the same time. Returns at once.
 */
export function keepFresh<Built extends { readonly tools: readonly FingerprintedTool[] }>(
  slot: AgentSlot<Built>,
  build: () => Built | Promise<Built>,
  options: KeepFreshOptions,
): void {
  const { everySeconds, signal, logger = silentLogger, clock = systemClock, onSwap } = options;
  if (!Number.isFinite(everySeconds) || everySeconds < 0) {
    throw new RangeError(`everySeconds has to be 0 or a positive number of seconds, not ${everySeconds}.`);
  }
  if (everySeconds === 0 || signal?.aborted) return;

  const look = async (): Promise<void> => {
    try {
      const built = await build();
      if (signal?.aborted) return;
      const from = fingerprint(slot.current.tools);
      const to = fingerprint(built.tools);
      if (from !== to) {
        slot.current = built;
        logger.info('agent swapped', { trigger: 'poll', from, to });
        onSwap?.({ from, to });
      }
    } catch (error) {
      // A failed build is no reason to serve nothing: the current agent stays, and the next poll tries again.
      logger.warn('round aborted', { trigger: 'poll', error: error instanceof Error ? error.message : String(error) });
    }
    arm();
  };
  let cancel: () => void = () => undefined;
  const arm = (): void => {
    if (!signal?.aborted) cancel = clock.after(everySeconds * 1_000, () => void look());
  };
  signal?.addEventListener('abort', () => cancel(), { once: true });
  arm();
}
