import { openMemoryStore } from './memory-store.js';
import { openPostgresStore } from './postgres-store.js';
import { openSqliteStore } from './sqlite-store.js';
import type { Store, StoreOptions } from './store.js';

/**
 * Opens the store that MCP_AGENT_CHECKPOINT names: `memory`, `sqlite:PATH` or `postgres://…` (CONTRACT.md 10, 16). Rejects with a
 * StoreUnusable, one line, when its package is missing or its database cannot be used; there is no other store that steps in.
 */
export async function openStore(location: string, options: StoreOptions): Promise<Store> {
  if (location === 'memory') return openMemoryStore(options);
  if (location.startsWith('sqlite:')) return openSqliteStore(location.slice('sqlite:'.length), options);
  if (/^postgres(ql)?:\/\//.test(location)) return openPostgresStore(location, options);
  // Only the scheme is repeated: the rest may hold a password.
  throw new RangeError(
    `MCP_AGENT_CHECKPOINT begins with ${JSON.stringify(location.split(':')[0])}; it has to be memory, sqlite:PATH or postgres://….`,
  );
}
