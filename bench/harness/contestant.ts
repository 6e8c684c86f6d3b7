import { setTimeout as sleep } from 'node:timers/promises';
import { machineNow } from './clock.js';
import type { Fleet } from './fleet.js';
import type { NodeProcess } from './node-process.js';

/** What a contestant now shows a model of one toolset: the stamp in the description of its first tool. */
export interface Served {
  readonly toolset: string;
  readonly revision: number;
  /** When it was served from, by the machine's clock, milliseconds. */
  readonly at: number;
}

export interface StartOptions {
  /** How long changes are collected, in milliseconds; the contestant's own default where it is not given. */
  readonly debounceMs?: number;
  /** How often unchanged toolsets are listed, in seconds; the contestant's own default where it is not given. */
  readonly pollSeconds?: number;
  /** Only for ours: further environment variables. */
  readonly env?: Readonly<Record<string, string>>;
}

/** One contestant (ours, the floor, or a peer) at work on a fleet, in a fresh process. */
export interface Running {
  readonly process: NodeProcess;
  /** Calls `listener` whenever what the next run would see has changed. Returns a function that ends this. */
  onServed(listener: (served: Served) => void): () => void;
  /**
   * Lists as it does for each run, where it does that, and returns what a run that begins now is shown of this toolset; undefined
   * where it shows nothing of it.
   */
  serves(toolset: string): Promise<{ readonly revision: number } | undefined>;
  /** True where it tells every change by `onServed`, so that it need not be asked. Others may be asked every few milliseconds while something is awaited. */
  readonly tellsChanges?: true;
  stop(): Promise<void>;
}

export interface Contestant {
  readonly name: string;
  /** Its package and version, for the report. */
  readonly version: string;
  /** What it cannot do, by goal: `{ P4: 'opens no new session after a restart' }`. The report prints it in place of a figure. `legacy` or `modern` in place of a goal: it does not speak that protocol era. */
  readonly cannot: Readonly<Record<string, string>>;
  /** Resolves when every toolset of the fleet has answered and, where the contestant can, is listened to. */
  start(fleet: Fleet, options?: StartOptions): Promise<Running>;
}

/** Resolves with the moment at which this revision of the toolset, or a later one, is served. Rejects when that takes too long. */
export function servedAt(running: Running, wanted: { toolset: string; revision: number; timeoutMs?: number }): Promise<number> {
  const { toolset, revision, timeoutMs = 60_000 } = wanted;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      stop();
      reject(new Error(`Revision ${revision} of ${toolset} was not served within ${timeoutMs} ms.`));
    }, timeoutMs);
    const stop = running.onServed((served) => {
      if (served.toolset !== toolset || served.revision < revision) return;
      clearTimeout(timer);
      stop();
      resolve(served.at);
    });
  });
}

/**
 * Begins to watch what is shown of one toolset. `of` resolves with the moment at which this revision, or a later one, was seen first: told
 * by the contestant itself or, where it tells nothing, found by asking it again and again. It rejects after `timeoutMs`.
 */
export function firstSeen(running: Running, toolset: string): { of(revision: number, timeoutMs: number): Promise<number> } {
  const told: Served[] = [];
  const stop = running.onServed((served) => {
    if (served.toolset === toolset) told.push(served);
  });
  return {
    async of(revision, timeoutMs) {
      const endsAt = machineNow() + timeoutMs;
      try {
        for (;;) {
          const found = told.find((served) => served.revision >= revision);
          if (found !== undefined) return found.at;
          if (running.tellsChanges !== true && (await revisionServed(running, { toolset, endsAt })) >= revision) return machineNow();
          if (machineNow() > endsAt) throw new Error(`Revision ${revision} of ${toolset} was not served within ${timeoutMs} ms.`);
          await new Promise((resolve) => setTimeout(resolve, 2));
        }
      } finally {
        stop();
      }
    },
  };
}

/** What is served now; -1 for nothing, for an error (its toolset may be down), and for no answer by `endsAt`. */
async function revisionServed(running: Running, { toolset, endsAt }: { toolset: string; endsAt: number }): Promise<number> {
  const over = new AbortController();
  const tooLate = sleep(Math.max(0, endsAt - machineNow()), undefined, { signal: over.signal });
  try {
    return (await Promise.race([running.serves(toolset), tooLate]))?.revision ?? -1;
  } catch {
    // Whoever cannot say what it serves does not serve it yet; it is asked again until the time is over.
    return -1;
  } finally {
    over.abort();
    tooLate.catch(() => undefined);
  }
}
