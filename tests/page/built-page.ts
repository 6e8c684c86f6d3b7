import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CACHE = join(ROOT, 'node_modules', '.cache', 'mcp-agent-api-page');
const run = promisify(execFile);

/**
 * Returns a folder with the page as it is in `web/` now. Test files that run at the same time, or later, share one build: it is kept below
 * `node_modules` under the hash of what it was made from.
 */
export async function buildPage(): Promise<string> {
  const folder = join(CACHE, await hashOfSources());
  if (await exists(folder)) return folder;
  await mkdir(CACHE, { recursive: true });
  const own = await mkdtemp(join(CACHE, 'build-'));
  try {
    await build(own);
    // Whoever is first gives the folder its name; the others' builds are equal and not needed.
    await rename(own, folder).catch(async (error: unknown) => {
      if (!(await exists(folder))) throw error;
    });
  } finally {
    await rm(own, { recursive: true, force: true });
  }
  return folder;
}

async function build(folder: string): Promise<void> {
  const vite = join(ROOT, 'node_modules', 'vite', 'bin', 'vite.js');
  // Jest's own NODE_ENV would build the page with React's development code, which is not what ships.
  const env = { ...process.env, NODE_ENV: 'production' };
  await run(process.execPath, [vite, 'build', 'web', '--outDir', folder, '--emptyOutDir'], { cwd: ROOT, env }).catch(
    (error: { stdout?: string; stderr?: string }) => {
      throw new Error(`The page could not be built:\n${error.stdout ?? ''}${error.stderr ?? ''}`, { cause: error });
    },
  );
}

async function hashOfSources(): Promise<string> {
  const hash = createHash('sha256');
  const entries = await readdir(join(ROOT, 'web'), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  for (const file of [...files.sort(), join(ROOT, 'package-lock.json')]) hash.update(file).update(await readFile(file));
  return hash.digest('hex').slice(0, 16);
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    // A folder that cannot be reached has to be made; making it says why where it cannot.
    () => false,
  );
}
