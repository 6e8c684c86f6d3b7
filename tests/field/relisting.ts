import type { Fleet } from '../flows/fleet.js';
import { runTurn } from '../support/run-client.js';

/** A tool with about everything that a definition may have. */
export const SEARCH = {
  name: 'search',
  title: 'Search',
  description: 'Searches.',
  inputSchema: {
    type: 'object',
    properties: {
      q: { type: 'string', description: 'What to look for', enum: ['a', 'b'], default: 'a' },
      limit: { type: 'integer', maximum: 100, minimum: 1 },
      where: { type: 'object', properties: { place: { type: 'string' }, depth: { type: 'number' } }, required: ['place', 'depth'] },
    },
    required: ['q', 'limit'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, idempotentHint: true },
  _meta: { ui: { resourceUri: 'ui://kb/one' } },
};

/** Has the toolset listed now, and waits for the round. */
export const relist = async (fleet: Fleet, name = 'toolset') => expect((await fleet.refresh(name)).status).toBe(200);

/** The `tools` of the request that a new run sends to the model, byte for byte as far as JSON keeps them. */
export async function toolsText(fleet: Fleet): Promise<string> {
  const asked = fleet.model.requests.length;
  await runTurn(fleet.baseUrl, { text: 'What can you do?' });
  return JSON.stringify(fleet.model.requests[asked]?.body.tools);
}

/** The same JSON with the keys of every object in another order. */
export function reordered(value: unknown, turn: number): unknown {
  if (Array.isArray(value)) return value.map((item) => reordered(item, turn));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, each]) => [key, reordered(each, turn)] as const);
  const at = entries.length === 0 ? 0 : turn % entries.length;
  const turned = [...entries.slice(at), ...entries.slice(0, at)];
  return Object.fromEntries(turn % 2 === 0 ? turned : turned.reverse());
}
