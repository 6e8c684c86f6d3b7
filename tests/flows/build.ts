import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onCleanup } from '../support/cleanup.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/**
 * Builds the package into a folder of its own, so that a test neither needs nor disturbs `dist/`, and returns the folder:
 * its `dist/main.js` is the command. Call it in `beforeAll`; the folder goes with the test file.
 */
export async function buildCommand(): Promise<{ readonly folder: string; readonly script: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-agent-api-build-'));
  onCleanup(() => rm(folder, { recursive: true }));
  await copyFile(join(ROOT, 'package.json'), join(folder, 'package.json'));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const arguments_ = [compiler, '-p', join(ROOT, 'tsconfig.json'), '--outDir', join(folder, 'dist'), '--declaration', 'false'];
  await run(process.execPath, arguments_).catch((error: { stdout?: string }) => {
    throw new Error(`The build failed:\n${error.stdout ?? ''}`, { cause: error });
  });
  return { folder, script: join(folder, 'dist', 'main.js') };
}
