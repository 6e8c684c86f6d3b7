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
  stop(): Promise<void>;
}

export interface Contestant {
  readonly name: string;
  /** Its package and version, for the report. */
  readonly version: string;
  /** What it cannot do, by goal: `{ P4: 'opens no new session after a restart' }`. The report prints it in place of a figure. */
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
