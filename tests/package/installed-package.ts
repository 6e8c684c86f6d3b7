import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onCleanup } from '../support/cleanup.js';
import { type ServiceProcess, startService } from '../support/process.js';
import { npm } from './npm.js';

export interface InstallOptions {
  readonly tarball: string;
  /** Whether npm also gets the databases' packages, one of which is compiled where no prebuilt binary can be had. */
  readonly optional: 'with' | 'without';
  readonly node?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A folder of a user of the package, who has installed it and nothing else. */
export interface InstalledPackage {
  readonly folder: string;
  /** What npm said. */
  readonly output: string;
  /** The Node.js that runs what is installed here. */
  readonly node: string;
  has(name: string): boolean;
  /** Runs `npx` there, without asking for packages elsewhere, and returns both outputs. */
  npx(args: readonly string[]): Promise<string>;
  /** Starts the command `mcp-agent-api` in that folder. */
  start(args: readonly string[], env?: Readonly<Record<string, string>>): ServiceProcess;
}

/** Installs the tarball into an empty folder. Call it in `beforeAll`; the folder goes with the test file. */
export async function installPackage({ tarball, optional, node = process.execPath, env }: InstallOptions): Promise<InstalledPackage> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-agent-api-user-'));
  onCleanup(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  const flags = optional === 'without' ? ['--omit=optional'] : [];
  // What the cache has is taken from there; the rest is asked for.
  const output = await npm(['install', '--prefer-offline', ...flags, tarball], { cwd: folder, node, env });
  return {
    folder,
    output,
    node,
    has: (name) => existsSync(join(folder, 'node_modules', name)),
    npx: (args) => npm(['exec', '--offline', '--', ...args], { cwd: folder, node }),
    start: (args, variables = {}) =>
      startService(args, { PORT: '0', ...variables }, { script: join(folder, 'node_modules', '.bin', 'mcp-agent-api'), cwd: folder, node }),
  };
}

/** Where a newer Node.js is installed from: its packages hold the binary and the headers, one package for each platform. */
export async function installNode(version: string): Promise<{ readonly node: string; readonly headers: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-agent-api-node-'));
  onCleanup(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true }));
  const name = `node-${process.platform}-${process.arch}`;
  await npm(['install', '--prefer-offline', `${name}@${version}`], { cwd: folder });
  const headers = join(folder, 'node_modules', name);
  if (!(await readdir(join(headers, 'bin'))).includes('node')) throw new Error(`The package ${name} holds no Node.js.`);
  return { node: join(headers, 'bin', 'node'), headers };
}
