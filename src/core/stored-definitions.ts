import { z } from 'zod';
import type { Definitions } from './facts.js';
import { type Snapshot, takeSnapshot, toolsetId } from './snapshot.js';
import type { JsonObject } from './tool.js';

const stored = z.object({
  url: z.string(),
  tools: z.array(z.looseObject({ name: z.string() })),
  withheld: z.array(z.object({ tool: z.string(), reason: z.string() })),
  instructions: z.string().optional(),
  credentialHeaders: z.array(z.string()),
});

/** A snapshot as JSON, for the store. */
export function definitionsOf({ url, tools, withheld, instructions, credentialHeaders }: Snapshot): JsonObject {
  return { url, tools, withheld, ...(instructions === undefined ? {} : { instructions }), credentialHeaders };
}

/** The snapshot that was stored, with the fingerprint that it had then; undefined where what is stored cannot be read. */
export function snapshotOfDefinitions({ toolset: name, fingerprint, definitions }: Definitions): Snapshot | undefined {
  const { data } = stored.safeParse(definitions);
  if (data === undefined) return undefined;
  const { url, tools, withheld, instructions, credentialHeaders } = data;
  const snapshot = takeSnapshot({ endpoint: { name, url, credentialHeaders }, list: { tools, instructions } });
  // Of withheld tools only the names are stored, so the fingerprint cannot be computed again.
  return Object.freeze({ ...snapshot, id: toolsetId(name, url), withheld: Object.freeze(withheld), fingerprint });
}
