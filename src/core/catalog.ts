import { fingerprintOfCatalog } from './fingerprint.js';
import { byCodeUnits } from './json.js';
import type { Snapshot } from './snapshot.js';
import { type CatalogNames, nameTools } from './tool-names.js';

/** The snapshots of all toolsets, together: what an agent is built from. Sorted by toolset name, so that assembling it is order-independent. */
export interface Catalog {
  readonly snapshots: readonly Snapshot[];
  readonly fingerprint: string;
  /** The tools that are shown to the model, under the names that it sees. */
  readonly names: CatalogNames;
}

/**
 * Puts the snapshots together, in any order. Throws a RangeError when two have the same toolset name: names tell tools apart. What is
 * already in `before`, the catalog that came before, is not made again; the result does not depend on it.
 */
export function assembleCatalog(snapshots: Iterable<Snapshot>, before?: Catalog): Catalog {
  const sorted = [...snapshots].sort((a, b) => byCodeUnits(a.toolset, b.toolset));
  for (const [index, { toolset }] of sorted.entries()) {
    if (sorted[index + 1]?.toolset === toolset) throw new RangeError(`Two snapshots of the toolset '${toolset}' in one catalog.`);
  }
  return Object.freeze({
    snapshots: Object.freeze(sorted),
    fingerprint: fingerprintOfCatalog(sorted),
    names: nameTools(sorted, before),
  });
}
