import type { Contestant } from '../harness/contestant.js';

/** The peers that `npm run bench:peers` has installed, each in a folder of its own. */
export function installedPeers(): readonly Contestant[] {
  return [];
}
