import { accessSync, constants, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';

/** Where the demo's editable definition files are. */
export interface DefinitionsFolder {
  readonly path: string;
  /** `original`: the files of the checkout itself. `copy`: a copy in the temporary folder. */
  readonly kind: 'original' | 'copy';
}

/**
 * Finds a folder with definition files that can be edited: `original` itself where it can be written, else a fresh copy in the
 * temporary folder. Files below `node_modules` are always copied: they belong to the package manager.
 */
export function openDefinitionsFolder(original: string): DefinitionsFolder {
  if (!original.split(sep).includes('node_modules') && isWritable(original)) return { path: original, kind: 'original' };
  const path = mkdtempSync(join(tmpdir(), 'mcp-agent-api-demo-'));
  // Written anew rather than copied, because a copy of a read-only file would be read-only too.
  for (const file of readdirSync(original)) writeFileSync(join(path, file), readFileSync(join(original, file)));
  return { path, kind: 'copy' };
}

function isWritable(folder: string): boolean {
  try {
    for (const file of [folder, ...readdirSync(folder).map((name) => join(folder, name))]) accessSync(file, constants.W_OK);
    return true;
  } catch {
    // Not writable is an answer here, not a failure.
    return false;
  }
}
