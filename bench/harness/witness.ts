import { machineNow } from './clock.js';
import { type NodeProcess, startNode } from './node-process.js';
import type { RunningService } from './service.js';

/** What one request showed the model. */
export interface Shown {
  /** When it arrived, by the machine's clock. */
  readonly at: number;
  readonly tools: number;
  /** The revision of each toolset's first tool, by that tool's name. */
  readonly revisions: Readonly<Record<string, number>>;
}

export interface Witness {
  readonly process: NodeProcess;
  /** For `ServiceOptions.modelUrl`. */
  readonly modelUrl: string;
  /** Runs one turn on a new thread to its end and returns what the model was shown in it. One at a time. Undefined when the service takes no runs yet. */
  run(service: RunningService): Promise<Run | undefined>;
  stop(): Promise<void>;
}

export interface Run extends Shown {
  /** When the request was sent, and when the headers of its answer came. */
  readonly begunAt: number;
  readonly takenAt: number;
}

/** Starts a model that says what it is shown, in a process of its own. */
export async function startWitness(): Promise<Witness> {
  const child = startNode({ script: new URL('../witness/main.js', import.meta.url).href });
  const { baseUrl } = await child.commander.give<{ baseUrl: string }>('start');
  let runs = 0;
  return {
    process: child,
    modelUrl: baseUrl,
    async run(service) {
      const id = `run-${++runs}-${child.pid}`;
      const shown: Shown[] = [];
      const stop = child.commander.onEvent((event) => {
        if (event.event === 'shown') shown.push(event as unknown as Shown);
      });
      try {
        const begunAt = machineNow();
        const response = await fetch(new URL('/runs', service.baseUrl), {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({
            threadId: id,
            runId: id,
            state: {},
            tools: [],
            context: [],
            forwardedProps: {},
            messages: [{ id, role: 'user', content: 'Hello' }],
          }),
        });
        const takenAt = machineNow();
        const text = await response.text();
        if (response.status === 503) return undefined;
        // The channel keeps the order: whatever was said during the run arrives before this answer.
        await child.commander.give('told');
        const [first] = shown;
        if (!text.includes('"RUN_FINISHED"') || first === undefined) throw new Error(`The run did not finish: ${text.slice(-500)}`);
        return { begunAt, takenAt, ...first };
      } finally {
        stop();
      }
    },
    stop: () => child.stop('SIGKILL'),
  };
}
