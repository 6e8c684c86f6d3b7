import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onCleanup } from './cleanup.js';
import { readLines } from './lines.js';
import { until } from './until.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface ServiceProcess {
  readonly pid: number;
  /** Lines of both outputs so far, in the order in which they arrived. */
  readonly lines: readonly string[];
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
  /** The first line (of now or later) that fits. Fails with all output when the process ends before, or when the time is over. */
  line(pattern: RegExp | string, options?: { timeoutMs?: number }): Promise<string>;
  /** Sends a signal. */
  signal(signal: NodeJS.Signals): void;
  /** Sends a signal, waits for the end and returns the exit code; null when the process was killed by a signal. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** Resolves with the exit code when the process has ended and all its output was read. */
  readonly exited: Promise<number | null>;
}

export interface StartOptions {
  /** The script; `dist/main.js` of this package by default. */
  script?: string;
  /** Where it runs; this package's root by default. */
  cwd?: string;
  /** The Node.js that runs it; the running one by default. */
  node?: string;
}

/**
 * Starts `node dist/main.js` (build it first) with these arguments. Of the environment only `PATH` and `HOME` are passed on,
 * so that a test does not depend on the developer's settings. What still runs after the test is killed.
 */
export function startService(
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  { script = 'dist/main.js', cwd = ROOT, node = process.execPath }: StartOptions = {},
): ServiceProcess {
  const child = spawn(node, [fileURLToPath(new URL(script, `file://${ROOT}`)), ...args], {
    cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  const stdout: string[] = [];
  const stderr: string[] = [];
  readLines(child.stdout, (line) => {
    stdout.push(line);
    lines.push(line);
  });
  readLines(child.stderr, (line) => {
    stderr.push(line);
    lines.push(line);
  });
  let ended = false;
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      ended = true;
      resolve(code);
    });
  });
  // Whoever waits for the end sees the failed start; without this line it would end the test run where nobody does.
  exited.catch(() => undefined);
  const kill = async () => {
    if (ended) return;
    child.kill('SIGKILL');
    await exited;
  };
  onCleanup(kill);
  return {
    pid: child.pid ?? 0,
    lines,
    stdout,
    stderr,
    exited,
    async line(pattern, { timeoutMs = 20_000 } = {}) {
      const fits = (line: string) => (typeof pattern === 'string' ? line.includes(pattern) : pattern.test(line));
      // What was written last is read before the process counts as ended, so the lines are complete then.
      await until(() => ended || lines.some(fits), { timeoutMs, what: `a line with ${String(pattern)}` }).catch(() => undefined);
      const found = lines.find(fits);
      if (found === undefined) {
        throw new Error(
          `${ended ? 'The process ended' : `Waited ${timeoutMs} ms`} without a line with ${String(pattern)}:\n${lines.join('\n')}`,
        );
      }
      return found;
    },
    signal: (signal) => void child.kill(signal),
    async stop(signal = 'SIGTERM') {
      if (!ended) child.kill(signal);
      return exited;
    },
  };
}
