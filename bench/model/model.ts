import { type NodeProcess, startNode } from '../harness/node-process.js';

/** A model provider in a process of its own. */
export interface Model {
  readonly process: NodeProcess;
  /** Ends in `/v1`. */
  readonly baseUrl: string;
  /** How long it waits before each token, in milliseconds; 0 sends an answer at once. */
  setTokenMs(ms: number): Promise<void>;
  /** Requests so far, and those among them that showed other tools than the call did that they answer. */
  counts(): Promise<{ requests: number; mixedTools: number }>;
  stop(): Promise<void>;
}

export async function startModel(): Promise<Model> {
  const child = startNode({ script: new URL('./main.js', import.meta.url).href });
  const { commander } = child;
  const { baseUrl } = await commander.give<{ baseUrl: string }>('start');
  return {
    process: child,
    baseUrl,
    setTokenMs: (ms) => commander.give('setTokenMs', { ms }),
    counts: () => commander.give('counts'),
    stop: () => child.stop('SIGKILL'),
  };
}
