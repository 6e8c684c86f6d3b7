import type { Catalog } from '../core/catalog.js';
import { CodedError } from '../core/errors.js';
import { type Snapshot, takeSnapshot } from '../core/snapshot.js';
import type { SessionPool } from '../mcp/session-pool.js';
import type { NamedToolset } from './index-reader.js';
import type { Lister } from './lister.js';

export interface ToolsetListAsk {
  readonly named: NamedToolset;
  readonly pool: SessionPool;
  readonly lister: Lister;
  /** What is live now, when the list is complete. */
  readonly live: () => Catalog | null;
  readonly list: number;
  readonly notified: boolean;
  readonly onStarted: () => void;
}

/** One toolset's complete list as a snapshot: the live one where nothing changed. Rejects with a CodedError. */
export async function listToolset({ named, pool, lister, live, list, notified, onStarted }: ToolsetListAsk) {
  const { endpoint, id } = named;
  if (endpoint instanceof CodedError) throw endpoint;
  const session = pool.get(endpoint);
  return lister.list(list, {
    session,
    notified,
    onStarted,
    read: (whole): { readonly snapshot: Snapshot; readonly declaresTools: boolean } => {
      const previous = live()?.snapshots.find((snapshot) => snapshot.id === id);
      return { snapshot: takeSnapshot({ endpoint: session.endpoint, list: whole, previous }), declaresTools: whole.declaresTools };
    },
  });
}
