import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = 'demo/toolsets';

/**
 * A definition file of the demo as the project ships it. The demo is there to be edited, so what a developer has left in the
 * working tree after trying it must not fail the tests; outside of a git checkout the file itself is all there is.
 */
export function shippedDefinition(file: string): Buffer {
  try {
    return execFileSync('git', ['show', `HEAD:${FOLDER}/${file}`], { stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    // No git or no checkout here.
    return readFileSync(join(FOLDER, file));
  }
}

/** Writes the demo's definition files as shipped into a folder. */
export function copyShippedDefinitions(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const file of readdirSync(FOLDER)) writeFileSync(join(folder, file), shippedDefinition(file));
}
