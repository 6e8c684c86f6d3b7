import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Settings of the machine that a nested npm has to know, such as where packages come from and how to get there. */
const OF_THE_MACHINE = /^npm_config_(registry|cafile|proxy|https_proxy|noproxy|cache|userconfig|globalconfig|nodedir)$/;

export interface NpmOptions {
  readonly cwd: string;
  /** The Node.js that runs npm, and the scripts of what npm installs; the running one by default. */
  readonly node?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs npm and returns both outputs together. Rejects with them when npm fails. */
export async function npm(args: readonly string[], { cwd, node = process.execPath, env = {} }: NpmOptions): Promise<string> {
  // `npm test` hands its own settings on, among them the folder of this project, into which a nested npm would install.
  const own = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name) || OF_THE_MACHINE.test(name));
  const script = process.env.npm_execpath;
  const [command, first] = script === undefined ? ['npm', []] : [node, [script]];
  const { stdout, stderr } = await run(command, [...first, ...args], { cwd, env: { ...Object.fromEntries(own), ...env } }).catch(
    (error: { stdout?: string; stderr?: string }) => {
      throw new Error(`npm ${args.join(' ')} failed:\n${error.stdout ?? ''}${error.stderr ?? ''}`, { cause: error });
    },
  );
  return stdout + stderr;
}
