import type { Fleet } from '../harness/fleet.js';
import { type NodeProcess, startNode } from '../harness/node-process.js';
import { startService } from '../harness/service.js';
import type { RunTarget } from './target.js';

/** A service that answers runs, at work in a fresh process. */
export interface RunningRuns {
  readonly process: NodeProcess;
  readonly target: RunTarget;
  stop(): Promise<void>;
}

/** One contestant of the scenarios about runs. */
export interface RunContestant {
  readonly name: string;
  readonly version: string;
  start(fleet: Fleet, options: { readonly modelUrl: string }): Promise<RunningRuns>;
}

/** The service as it ships. */
export const OUR_RUNS: RunContestant = {
  name: 'mcp-agent-api',
  version: 'this commit',
  async start(fleet, { modelUrl }) {
    const service = await startService(fleet, { modelUrl });
    return { process: service.process, target: { url: `${service.baseUrl}/runs`, form: 'ag-ui' }, stop: () => service.stop() };
  },
};

/** The same agent in an Express route written by hand. */
export const HAND_WRITTEN = runContestantOf({
  name: 'hand-written',
  version: 'bench/hand-written',
  script: new URL('../hand-written/main.js', import.meta.url).href,
  path: '/runs',
  form: 'ag-ui',
});

export interface RunContestantProcess {
  readonly name: string;
  readonly version: string;
  readonly script: string;
  readonly cwd?: string;
  readonly node?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Where runs are posted, below the base URL that it answers. */
  readonly path: string;
  readonly form: RunTarget['form'];
}

/** A contestant that is a script of its own: it answers the command `start` with `{toolsets, modelUrl}` by its `{baseUrl}`. */
export function runContestantOf({ name, version, script, path, form, ...how }: RunContestantProcess): RunContestant {
  return {
    name,
    version,
    async start(fleet, { modelUrl }) {
      const child = startNode({ script, ...how });
      try {
        const { baseUrl } = await child.commander.give<{ baseUrl: string }>('start', { toolsets: fleet.toolsets, modelUrl });
        return { process: child, target: { url: `${baseUrl}${path}`, form }, stop: () => child.stop('SIGKILL') };
      } catch (error) {
        await child.stop('SIGKILL');
        throw error;
      }
    },
  };
}
