import { type NodeProcess, startNode } from '../harness/node-process.js';
import type { LoadOptions, LoadResult } from './target.js';

/** The load client in a process of its own. */
export interface Load {
  readonly process: NodeProcess;
  run(options: LoadOptions): Promise<LoadResult>;
  stop(): Promise<void>;
}

export function startLoad(): Load {
  const child = startNode({ script: new URL('./main.js', import.meta.url).href });
  return {
    process: child,
    run: (options) => child.commander.give('load', options),
    stop: () => child.stop('SIGKILL'),
  };
}
