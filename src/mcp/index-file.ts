import { watch } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CodedError } from '../core/errors.js';
import { reasonIn } from './failure.js';

/** Editors and mounted volumes change several directory entries for one change; they are taken as one. */
const SETTLE_MS = 100;

/** The path of an index in a file: a `file:` URL, or a path relative to the working directory. Undefined for other URLs. */
export function indexFileOf(url: string): string | undefined {
  // A URL parser would take `file:index.json` for a file in the root directory.
  if (/^file:(?!\/)/i.test(url)) return resolve(decodeURIComponent(url.slice('file:'.length)));
  if (/^file:/i.test(url)) return fileURLToPath(url);
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(url) ? undefined : resolve(url);
}

/** Reads the JSON in an index file. Throws INDEX_UNREACHABLE when it cannot be read, INDEX_MALFORMED when it is no JSON or too large. */
export async function readIndexFile(path: string, options: { readonly maxBytes: number; readonly signal: AbortSignal }): Promise<unknown> {
  let text: string;
  try {
    if ((await stat(path)).size > options.maxBytes)
      throw new CodedError('INDEX_MALFORMED', `The index file has more than ${options.maxBytes} bytes.`);
    text = await readFile(path, { encoding: 'utf8', signal: options.signal });
  } catch (error) {
    if (error instanceof CodedError) throw error;
    throw new CodedError('INDEX_UNREACHABLE', `The index file could not be read${reasonIn(error)}.`, { cause: error });
  }
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the file, which may hold credentials, so it is not kept.
    throw new CodedError('INDEX_MALFORMED', 'The index file is no JSON.');
  }
}

/**
 * Calls `onChange` shortly after the index file may have changed; answers a function that ends this. The directory is
 * watched rather than the file, because mounted ConfigMaps replace a link beside it (CONTRACT.md 3.12). An index that is no file is not watched.
 */
export function watchIndexFile(url: string, onChange: () => void): () => void {
  const path = indexFileOf(url);
  if (path === undefined) return () => undefined;
  let timer: NodeJS.Timeout | undefined;
  try {
    const watcher = watch(dirname(path), { persistent: false }, (_event, name) => {
      if (name !== null && name !== basename(path) && !name.startsWith('..')) return;
      clearTimeout(timer);
      timer = setTimeout(onChange, SETTLE_MS);
    });
    // A directory that vanishes ends the watch; the file is still read at intervals.
    watcher.on('error', () => watcher.close());
    return () => {
      clearTimeout(timer);
      watcher.close();
    };
  } catch {
    // A directory that does not exist cannot be watched; reading the index reports it.
    return () => undefined;
  }
}
