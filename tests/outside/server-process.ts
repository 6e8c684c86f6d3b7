import { type ChildProcess, spawn } from 'node:child_process';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { onCleanup } from '../support/cleanup.js';
import { freePort } from '../support/ports.js';
import { until } from '../support/until.js';

const MODULES = fileURLToPath(new URL('../../node_modules/', import.meta.url));

/** The path of a file in an installed package. */
export function inModules(path: string): string {
  return `${MODULES}${path}`;
}

export interface ServerProcess {
  readonly url: string;
  /** Ends the process: `SIGTERM` lets it end its own children. */
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Starts it again on the same port, and waits until the port is open. */
  start(): Promise<void>;
}

export interface ServerCommand {
  /** A script of Node's, and its arguments. `PORT` in an argument is replaced by the port. */
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts an MCP server that is not part of this project as a process on a free port. It ends with the test. */
export async function startServerProcess({ args, env = {} }: ServerCommand): Promise<ServerProcess> {
  const port = await freePort();
  let child: ChildProcess | undefined;
  let output = '';

  const stop = async (signal: NodeJS.Signals) => {
    const ending = child;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const ended = new Promise((resolve) => ending.once('exit', resolve));
    ending.kill(signal);
    // Whoever does not end when asked to is made to.
    const insist = setTimeout(() => ending.kill('SIGKILL'), 8_000);
    await ended;
    clearTimeout(insist);
  };
  const start = async () => {
    const started = spawn(
      process.execPath,
      args.map((argument) => argument.replace(/^PORT$/, String(port))),
      { env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: String(port), ...env }, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    child = started;
    for (const stream of [started.stdout, started.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text: string) => {
        output = (output + text).slice(-4_000);
      });
    }
    await until(() => isOpen(port), { timeoutMs: 25_000, what: `port ${port} to be open` }).catch((error: unknown) => {
      throw new Error(`The server did not come up:\n${output}`, { cause: error });
    });
  };
  onCleanup(() => stop('SIGTERM'));
  await start();
  return { url: `http://127.0.0.1:${port}/mcp`, stop, start };
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const settle = (open: boolean) => {
      socket.destroy();
      resolve(open);
    };
    socket.once('connect', () => settle(true));
    socket.once('error', () => settle(false));
  });
}
