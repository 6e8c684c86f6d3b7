import { readFileSync, unwatchFile, watch, watchFile } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Logger } from '../../core/ports.js';
import { type Definition, parseDefinition } from './definition.js';

export interface DefinitionFile {
  /** The last definition that could be used. */
  current(): Definition;
  close(): void;
}

// An editor empties, writes and renames in quick steps; what the file holds a moment later is what was meant.
const SETTLE_MS = 50;
const LOOK_MS = 1_000;

/**
 * Reads a definition file and watches it. `onChange` is called with each new definition; a file that is broken, half-written or
 * gone keeps the last definition and is reported in one log line. Throws an Error when the file cannot be used at first.
 */
export function openDefinitionFile(options: {
  readonly path: string;
  readonly logger: Logger;
  readonly onChange: (definition: Definition) => void;
}): DefinitionFile {
  const { path, logger, onChange } = options;
  const file = basename(path);
  let text = readFileSync(path, 'utf8');
  let definition = parseDefinition(text);
  let settle: NodeJS.Timeout | undefined;

  const look = () => {
    try {
      const newText = readFileSync(path, 'utf8');
      if (newText === text) return;
      text = newText;
      const newDefinition = parseDefinition(newText);
      if (JSON.stringify(newDefinition) === JSON.stringify(definition)) return;
      definition = newDefinition;
      logger.info('demo toolset redeployed', { file, version: definition.version, tools: definition.tools.map((tool) => tool.name) });
      onChange(definition);
    } catch (error) {
      // The demo goes on with the definition that it has; the next save is another chance.
      logger.warn('demo definition not used', { file, reason: error instanceof Error ? error.message : String(error) });
    }
  };
  const lookSoon = () => {
    clearTimeout(settle);
    settle = setTimeout(look, SETTLE_MS);
  };

  // The folder is watched, not the file: editors put a new file in the old one's place, which ends a watch on the file.
  const watcher = watch(dirname(path), (_event, name) => {
    if (name === null || name === file) lookSoon();
  });
  watcher.on('error', () => {
    // No events from here on (for example the folder was replaced); the look every second below still finds changes.
  });
  // Mounted and network folders often send no events.
  watchFile(path, { interval: LOOK_MS }, lookSoon);

  return {
    current: () => definition,
    close() {
      clearTimeout(settle);
      watcher.close();
      unwatchFile(path, lookSoon);
    },
  };
}
