import { startNode } from './node-process.js';

/** Milliseconds of each time that something was done. */
export interface IdentityTimes {
  /** A changed toolset's snapshot and the fingerprint of the catalog with it. */
  readonly changed: number[];
  /** An unchanged toolset's list, found to be that. */
  readonly unchanged: number[];
  /** The fingerprint of all tools anew, as a host does it that keeps no digests. */
  readonly whole: number[];
  readonly floor: number[];
}

/** Takes identities in a fresh process. */
export async function measureIdentity(sizes: { toolsets: number; tools: number; changes: number }): Promise<IdentityTimes> {
  const child = startNode({ script: new URL('../identity/main.js', import.meta.url).href });
  try {
    return await child.commander.give<IdentityTimes>('measure', sizes);
  } finally {
    await child.stop('SIGKILL');
  }
}
