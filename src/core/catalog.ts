import type { Snapshot } from './snapshot.js';

/** The snapshots of all toolsets, together: what an agent is built from. Sorted by toolset name, so that assembling it is order-independent. */
export interface Catalog {
  readonly snapshots: readonly Snapshot[];
  readonly fingerprint: string;
}
