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
}

export interface RunningProcess extends Running {
  readonly process: NodeProcess;
}

/**
 * A contestant that is a Node script of its own. It answers two commands, `start` with `{toolsets: [{name, url}], debounceMs?, pollSeconds?}`
 * and `serves` with `{toolset}` (the stamp `{revision}`, or null), and tells `{event: 'served', toolset, revision, at}` where it learns of
 * a change by itself.
 */
export function contestantOf({ name, version, cannot = {}, script, cwd, node }: ContestantProcess): Contestant & {
  start(fleet: Fleet, options?: StartOptions): Promise<RunningProcess>;
} {
  return {
    name,
    version,
    cannot,
    async start(fleet, { debounceMs, pollSeconds } = {}) {
      const child = startNode({ script, ...(cwd !== undefined && { cwd }), ...(node !== undefined && { node }) });
      await child.commander.give('start', { toolsets: fleet.toolsets, debounceMs, pollSeconds });
      return {
        process: child,
        onServed: (listener) =>
          child.commander.onEvent((event) => {
            if (event.event === 'served') listener(event as unknown as Served);
          }),
        serves: async (toolset) => (await child.commander.give<{ revision: number } | null>('serves', { toolset })) ?? undefined,
        stop: () => child.stop('SIGKILL'),
      };
    },
  };
}

/** The floor, as a contestant. */
export const FLOOR = contestantOf({
  name: 'floor (node:http)',
  version: process.version,
  cannot: { P4: 'opens nothing again' },
  script: new URL('../floor/main.js', import.meta.url).href,
});
