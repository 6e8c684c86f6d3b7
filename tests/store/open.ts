import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalRunLocks } from '../../src/agent/run-lock.js';
import type { Clock } from '../../src/core/ports.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store, StoreOptions } from '../../src/store/store.js';
import { systemClock } from '../../src/system-clock.js';
import { onCleanup } from '../support/cleanup.js';

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

export interface OpenedStore extends Store {
  readonly log: readonly LogLine[];
}

/** Opens a store as the service does. It is closed with the test. */
export async function openTestStore(location: string, options: Partial<StoreOptions> & { clock?: Clock } = {}): Promise<OpenedStore> {
  const { clock = systemClock } = options;
  const log: LogLine[] = [];
  const at =
    (level: string) =>
    (message: string, fields: Record<string, unknown> = {}) =>
      void log.push({ level, message, fields });
  const logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  const store = await openStore(location, { clock, logger, instance: 'test', localLocks: new LocalRunLocks(clock), ...options });
  let closed = false;
  const close = async () => {
    if (closed) return;
    closed = true;
    await store.close();
  };
  onCleanup(close);
  return { ...store, close, log };
}

/** A file for an SQLite store, in a folder of its own that goes with the test. */
export async function sqliteLocation(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-agent-api-sqlite-'));
  onCleanup(() => rm(folder, { recursive: true }));
  return `sqlite:${join(folder, 'threads.db')}`;
}
