import { parseArguments } from '../../src/cli.js';
import { runCommand } from '../../src/commands/run-command.js';
import type { Clock } from '../../src/core/ports.js';
import { systemClock } from '../../src/system-clock.js';
import { onCleanup } from '../support/cleanup.js';

export interface Running {
  /** Lines of standard output so far. */
  readonly out: readonly string[];
  /** Lines of standard error so far. */
  readonly notes: readonly string[];
  /** The exit code. */
  readonly ended: Promise<number>;
  /** What Ctrl-C does. */
  interrupt(): void;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly colours?: boolean;
  readonly clock?: Clock;
}

/** Runs a command as the process does, with these arguments and this environment. It ends with the test. */
export function run(argv: readonly string[], { env = {}, colours = false, clock = systemClock }: RunOptions = {}): Running {
  const command = parseArguments(argv);
  if (command.kind !== 'watch' && command.kind !== 'refresh' && command.kind !== 'fingerprint')
    throw new Error(`These arguments are no command: ${JSON.stringify(command)}`);
  const out: string[] = [];
  const notes: string[] = [];
  const ended = new AbortController();
  const terminal = { out: (line: string) => void out.push(line), note: (line: string) => void notes.push(line), colours };
  const running = runCommand(command, { env, terminal, clock, signal: ended.signal, version: '0.0.0' });
  onCleanup(async () => {
    ended.abort();
    await running;
  });
  return { out, notes, ended: running, interrupt: () => ended.abort() };
}
