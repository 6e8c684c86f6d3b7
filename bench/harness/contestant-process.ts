import type { Contestant, Running, Served, StartOptions } from './contestant.js';
import type { Fleet } from './fleet.js';
import { type NodeProcess, startNode } from './node-process.js';

export interface ContestantProcess {
  readonly name: string;
  readonly version: string;
  readonly cannot?: Contestant['cannot'];
  readonly script: string;
  readonly cwd?: string;
  readonly node?: string;
  /** It tells every change by itself, so that it need not be asked what it serves. */
  readonly tellsChanges?: true;
}

export interface RunningProcess extends Running {
  readonly process: NodeProcess;
}

/**
 * A contestant that is a Node script of its own. It answers two commands, `start` with `{toolsets: [{name, url}], debounceMs?, pollSeconds?}`
 * and `serves` with `{toolset}` (the stamp `{revision}`, or null), and tells `{event: 'served', toolset, revision, at}` where it learns of
 * a change by itself.
 */
export function contestantOf({ name, version, cannot = {}, script, cwd, node, tellsChanges }: ContestantProcess): Contestant & {
  start(fleet: Fleet, options?: StartOptions): Promise<RunningProcess>;
  /** Starts, and leaves it to the caller to wait until every toolset has answered. */
  begin(fleet: Fleet, options?: StartOptions): RunningProcess & { readonly started: Promise<unknown> };
} {
  const begin = (fleet: Fleet, { debounceMs, pollSeconds }: StartOptions = {}) => {
    const child = startNode({ script, ...(cwd !== undefined && { cwd }), ...(node !== undefined && { node }) });
    return {
      process: child,
      ...(tellsChanges && { tellsChanges }),
      started: child.commander.give('start', { toolsets: fleet.toolsets, debounceMs, pollSeconds }),
      onServed: (listener: (served: Served) => void) =>
        child.commander.onEvent((event) => {
          if (event.event === 'served') listener(event as unknown as Served);
        }),
      serves: async (toolset: string) => (await child.commander.give<{ revision: number } | null>('serves', { toolset })) ?? undefined,
      stop: () => child.stop('SIGKILL'),
    };
  };
  return {
    name,
    version,
    cannot,
    begin,
    async start(fleet, options) {
      const { started, ...running } = begin(fleet, options);
      try {
        await started;
      } catch (error) {
        await running.stop();
        throw error;
      }
      return running;
    },
  };
}

/** The floor, as a contestant. */
export const FLOOR = contestantOf({
  name: 'floor (node:http)',
  version: process.version,
  tellsChanges: true,
  script: new URL('../floor/main.js', import.meta.url).href,
});
