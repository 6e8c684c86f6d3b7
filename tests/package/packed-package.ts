import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onCleanup } from '../support/cleanup.js';
import { npm } from './npm.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/** What a clone does not have: what was installed, what was built, and the history. */
const NOT_IN_A_CLONE = new Set(['node_modules', 'dist', '.git']);

export interface PackedPackage {
  readonly tarball: string;
  /** The tarball, unpacked. */
  readonly folder: string;
  /** The paths of all files in it, sorted. */
  readonly files: readonly string[];
  /** Where it was built: no file may give that away. */
  readonly builtIn: string;
}

/** Makes the tarball as somebody does in a fresh clone: no `dist`, then `npm pack`. Call it in `beforeAll`; it goes with the test file. */
export async function packPackage(): Promise<PackedPackage> {
  const own = await mkdtemp(join(tmpdir(), 'mcp-agent-api-pack-'));
  onCleanup(() => rm(own, { recursive: true }));
  const builtIn = join(own, 'clone');
  await cp(ROOT, builtIn, { recursive: true, filter: (path) => !NOT_IN_A_CLONE.has(basename(path)) });
  await symlink(join(ROOT, 'node_modules'), join(builtIn, 'node_modules'));
  await npm(['pack', '--pack-destination', own], { cwd: builtIn });
  const tarball = (await readdir(own)).find((file) => file.endsWith('.tgz')) ?? '';
  const folder = join(own, 'unpacked');
  await mkdir(folder);
  await run('tar', ['-xzf', join(own, tarball), '-C', folder, '--strip-components=1']);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  return { tarball: join(own, tarball), folder, files: files.sort(), builtIn };
}
