import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { readLines } from '../../tests/support/lines.js';
import { Commander } from './commands.js';

/** The compiled probe: it is loaded into every process that is measured. */
const PROBE = new URL('../probe/probe.js', import.meta.url).href;

/** What the event loop did between two moments, in milliseconds. It is sampled every millisecond, so about 1 ms is its floor. */
export interface LoopDelay {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface Memory {
  /** Bytes in use on the heap after a full garbage collection. */
  readonly heap: number;
  readonly rss: number;
  readonly external: number;
}

export interface NodeProcessOptions {
  readonly script: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** The Node binary; the running one by default. */
  readonly node?: string;
}

/** One Node process under measurement: its output is read and kept to the last lines, its probe answers commands. */
export interface NodeProcess {
  readonly pid: number;
  readonly commander: Commander;
  /** The last lines of both outputs. */
  readonly lines: readonly string[];
  /** Waits for a line of the output that contains `text`. */
  line(text: string, timeoutMs?: number): Promise<string>;
  memory(): Promise<Memory>;
  /** CPU time used so far, user and system, in milliseconds. */
  cpuMs(): Promise<number>;
  /** What keeps the event loop open now (`Timeout`, `TCPSocketWrap`, …), and how many of each. */
  resources(): Promise<Readonly<Record<string, number>>>;
  /** Begins to measure the event loop's delay. */
  watchLoop(): Promise<void>;
  /** What the loop did since `watchLoop`. */
  loopDelay(): Promise<LoopDelay>;
  /** Begins a CPU profile. */
  startProfile(): Promise<void>;
  /** Ends the CPU profile and writes it to `file` in Chrome's format. */
  stopProfile(file: string): Promise<void>;
  /** Sends the signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

const KEPT_LINES = 400;
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a Node process with the probe and a channel for commands. Of the environment only `PATH` and `HOME` are passed on. */
export function startNode({ script, args = [], env = {}, cwd, node = process.execPath }: NodeProcessOptions): NodeProcess {
  const path = script.startsWith('file:') ? fileURLToPath(script) : script;
  const child = spawn(node, ['--expose-gc', '--import', PROBE, path, ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    ...(cwd !== undefined && { cwd }),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  running.add(child);
  const commander = new Commander(child);
  const lines: string[] = [];
  const waiting = new Set<{ text: string; resolve(line: string): void; reject(error: Error): void }>();
  const take = (line: string) => {
    lines.push(line);
    if (lines.length > KEPT_LINES) lines.shift();
    for (const wait of waiting) {
      if (!line.includes(wait.text)) continue;
      waiting.delete(wait);
      wait.resolve(line);
    }
  };
  for (const stream of [child.stdout, child.stderr]) readLines(stream, take);
  let ended = false;
  const exited = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('close', () => resolve());
  }).then(() => {
    ended = true;
    running.delete(child);
    const error = new Error(`${path} ended:\n${lines.slice(-30).join('\n')}`);
    commander.end(error);
    for (const wait of waiting) wait.reject(error);
  });
  return {
    pid: child.pid ?? 0,
    commander,
    lines,
    async line(text, timeoutMs = 60_000) {
      const found = lines.find((line) => line.includes(text));
      if (found !== undefined) return found;
      return new Promise<string>((resolve, reject) => {
        const late = () => reject(new Error(`No line with ${text} from ${path} within ${timeoutMs} ms:\n${lines.slice(-30).join('\n')}`));
        const timer = setTimeout(late, timeoutMs);
        const done = () => clearTimeout(timer);
        waiting.add({
          text,
          resolve(line) {
            done();
            resolve(line);
          },
          reject(error) {
            done();
            reject(error);
          },
        });
      });
    },
    memory: () => commander.give<Memory>('probe.memory'),
    cpuMs: () => commander.give<number>('probe.cpu'),
    resources: () => commander.give<Readonly<Record<string, number>>>('probe.resources'),
    watchLoop: () => commander.give<void>('probe.watchLoop'),
    loopDelay: () => commander.give<LoopDelay>('probe.loopDelay'),
    startProfile: () => commander.give<void>('probe.startProfile'),
    stopProfile: (file) => commander.give<void>('probe.stopProfile', { file }),
    async stop(signal = 'SIGTERM') {
      if (!ended) child.kill(signal);
      // A process that does not end by itself is not to hold up the other rounds.
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await exited;
      clearTimeout(timer);
    },
  };
}
