import type { RawEra } from '../../tests/support/raw-state.js';
import { type NodeProcess, startNode } from './node-process.js';

export interface FleetSpec {
  readonly toolsets: number;
  /** Tools of each toolset; 17 by default, as the goals say. */
  readonly tools?: number;
  /** `mixed` alternates 2025-era servers with sessions and 2026-era ones; `legacy` (with sessions) by default. Of several the toolsets take turns. */
  readonly era?: RawEra | 'mixed' | readonly RawEra[];
  readonly keepAliveMs?: number;
  /** The first tool of each toolset names a view of this many bytes; none by default. */
  readonly viewBytes?: number;
  /** The toolsets' names are this and a number; `t` by default. */
  readonly prefix?: string;
  /** The port of the first toolset; a free one by default. For a fleet that comes back after it was killed. */
  readonly port?: number;
  /** The revision that all begin with; 0 by default. */
  readonly revision?: number;
}

export interface FleetTotals {
  /** Requests of all toolsets so far by JSON-RPC method, or by HTTP method where there is none. */
  readonly requests: Readonly<Record<string, number>>;
  readonly sessions: number;
  readonly sockets: number;
  readonly streams: number;
}

export interface Change {
  readonly revision: number;
  /** The machine's clock, milliseconds. */
  readonly changedAt: number;
}

/** The toolsets `t0`, `t1`, … in a process of their own. The description of each one's first tool says its revision and when that was made. */
export interface Fleet {
  readonly process: NodeProcess;
  readonly indexUrl: string;
  readonly toolsets: readonly { readonly name: string; readonly url: string }[];
  /** When the last of them listened, by the machine's clock. */
  readonly listeningAt: number;
  /** Changes the first tool's description of these toolsets (all of them by default) and announces it unless told not to. */
  change(names?: readonly string[], options?: { announce?: boolean }): Promise<readonly Change[]>;
  /** Changes one toolset again and again; resolves with all changes when the last one was made. */
  changeEvery(name: string, times: { everyMs: number; forMs: number }): Promise<readonly Change[]>;
  /** Sends notifications without a change, spread over a time; resolves when the last one was sent. */
  announceMany(name: string, times: { times: number; overMs: number }): Promise<void>;
  changeView(name: string): Promise<void>;
  /** Resets all connections of a toolset and closes its port. */
  kill(name: string): Promise<void>;
  /** Starts it again on its port, with changed tools and without sessions. It announces nothing. */
  restart(name: string): Promise<{ revision: number; listeningAt: number }>;
  /** True: nothing is answered any more. False: what waited is answered now; resolves with the time, by the machine's clock. */
  hang(name: string, on: boolean): Promise<number>;
  /** Answers of these toolsets (all by default) come so much later. */
  delay(ms: number, names?: readonly string[]): Promise<void>;
  /** Requests by toolset and method. */
  counts(names?: readonly string[]): Promise<Record<string, Record<string, number>>>;
  /** By toolset: when its first request came and when its first list was answered, by the machine's clock; null for what has not happened. */
  firsts(): Promise<Record<string, { requestAt: number | null; listedAt: number | null }>>;
  /** The revision of each toolset. */
  revisions(): Promise<Record<string, number>>;
  totals(): Promise<FleetTotals>;
  resetCounts(): Promise<void>;
  stop(): Promise<void>;
}

export async function startFleet(spec: FleetSpec): Promise<Fleet> {
  const child = startNode({ script: new URL('../fleet/main.js', import.meta.url).href });
  const { commander } = child;
  const started = await commander.give<Pick<Fleet, 'indexUrl' | 'toolsets' | 'listeningAt'>>('start', spec);
  return {
    process: child,
    ...started,
    change: (names, { announce = true } = {}) => commander.give('change', { names, announce }),
    changeEvery: (name, times) => commander.give('changeEvery', { name, ...times }),
    announceMany: (name, times) => commander.give('announceMany', { name, ...times }),
    changeView: (name) => commander.give('changeView', { name }),
    kill: (name) => commander.give('kill', { name }),
    restart: (name) => commander.give('restart', { name }),
    hang: (name, on) => commander.give('hang', { name, on }),
    delay: (ms, names) => commander.give('delay', { ms, names }),
    counts: (names) => commander.give('counts', { names }),
    firsts: () => commander.give('firsts'),
    revisions: () => commander.give('revisions'),
    totals: () => commander.give('totals'),
    resetCounts: () => commander.give('resetCounts'),
    stop: () => child.stop('SIGKILL'),
  };
}
