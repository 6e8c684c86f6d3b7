import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onCleanup } from '../support/cleanup.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/** Builds the page as it is in `web/` into a folder of its own and returns the folder. Call it in `beforeAll`; the folder goes with the file. */
export async function buildPage(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-agent-api-page-'));
  onCleanup(() => rm(folder, { recursive: true }));
  const vite = join(ROOT, 'node_modules', 'vite', 'bin', 'vite.js');
  // Jest's own NODE_ENV would build the page with React's development code, which is not what ships.
  const env = { ...process.env, NODE_ENV: 'production' };
  await run(process.execPath, [vite, 'build', 'web', '--outDir', folder, '--emptyOutDir'], { cwd: ROOT, env }).catch(
    (error: { stdout?: string; stderr?: string }) => {
      throw new Error(`The page could not be built:\n${error.stdout ?? ''}${error.stderr ?? ''}`, { cause: error });
    },
  );
  return folder;
}
