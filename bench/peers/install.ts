import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { PEER_FOLDERS } from './all.js';

/** Installs each peer in its own folder by its own lock file, and leaves alone what is installed already. None of it is a dependency of the product. */
for (const entry of readdirSync(PEER_FOLDERS, { withFileTypes: true })) {
  const folder = `${PEER_FOLDERS}${entry.name}`;
  const lock = `${folder}/package-lock.json`;
  if (!entry.isDirectory() || !existsSync(lock)) continue;
  const installed = `${folder}/node_modules/.package-lock.json`;
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) continue;
  process.stderr.write(`Installing ${entry.name}\n`);
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder, stdio: 'inherit' });
}
