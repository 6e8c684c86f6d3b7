import { fingerprintOfToolset } from './fingerprint.js';
import { countHidden, removeHidden } from './hidden-text.js';
import { isJsonObject, isSameJson } from './json.js';
import type { ToolsetEndpoint, ToolsetList } from './ports.js';
import type { ToolDefinition, WithheldTool } from './tool.js';
import { uiMetaOf } from './tool-digest.js';
import { judgeTools } from './tool-list.js';

/** One toolset's complete list at one moment, frozen, with its fingerprint. */
export interface Snapshot {
  /** The toolset's identity: its name and URL. A toolset that moves to another URL is another toolset (CONTRACT.md 3.12). */
  readonly id: string;
  /** The toolset's name in the index. */
  readonly toolset: string;
  readonly url: string;
  /** The tools that can be shown to a model or to a view, sorted by name. */
  readonly tools: readonly ToolDefinition[];
  /** Tools of the list that cannot be shown, sorted by name. */
  readonly withheld: readonly WithheldTool[];
  /** The digest of each tool in `tools`, by name. */
  readonly digests: ReadonlyMap<string, string>;
  readonly instructions: string | undefined;
  readonly credentialHeaders: readonly string[];
  /** What is hidden in the texts of this snapshot and removed from what the model sees (CONTRACT.md 14.1). */
  readonly hidden: HiddenInSnapshot;
  /** `sha256-` and 64 hexadecimal digits (CONTRACT.md 5). */
  readonly fingerprint: string;
}

export interface HiddenInSnapshot {
  /** How many code points, in the tools and in the instructions. */
  readonly characters: number;
  /** The names of the tools that have some, themselves without hidden characters. */
  readonly tools: readonly string[];
}

export interface SnapshotInput {
  readonly endpoint: Pick<ToolsetEndpoint, 'name' | 'url' | 'credentialHeaders'>;
  /** One complete list, as the session returned it. */
  readonly list: { readonly tools: readonly unknown[]; readonly instructions: ToolsetList['instructions'] };
  /** The snapshot that is held now. It is returned, the very same object, when the list shows no change (CONTRACT.md 2.6). */
  readonly previous?: Snapshot;
}

/** The identity of a toolset: name and URL together. */
export function toolsetId(name: string, url: string): string {
  return `${name} ${url}`;
}

/** Freezes one complete list. Throws a CodedError LIST_MALFORMED or LIST_TOO_LARGE (CONTRACT.md 6.2, 14.1). */
export function takeSnapshot({ endpoint, list, previous }: SnapshotInput): Snapshot {
  const { tools, withheld, digests, allDigests } = judgeTools(list.tools, previous);
  const { instructions } = list;
  const { credentialHeaders } = endpoint;
  const id = toolsetId(endpoint.name, endpoint.url);
  if (previous !== undefined && previous.id === id && isTakenOver({ tools, withheld, instructions, credentialHeaders }, previous))
    return previous;
  const fingerprint = fingerprintOfToolset({ digests: allDigests, instructions, credentialHeaders });
  if (previous !== undefined && previous.id === id && previous.fingerprint === fingerprint) return previous;
  return Object.freeze({
    id,
    toolset: endpoint.name,
    url: endpoint.url,
    tools,
    withheld,
    digests,
    instructions,
    credentialHeaders: Object.freeze([...credentialHeaders]),
    hidden: hiddenIn(tools, { instructions, previous }),
    fingerprint,
  });
}

/** Whether everything that counts is the very same as before: then there is nothing to hash. */
function isTakenOver(
  { tools, withheld, instructions, credentialHeaders }: Pick<Snapshot, 'tools' | 'withheld' | 'instructions' | 'credentialHeaders'>,
  previous: Snapshot,
): boolean {
  if (withheld.length > 0 || previous.withheld.length > 0 || tools.length !== previous.tools.length) return false;
  if (instructions !== previous.instructions || !isSameJson(credentialHeaders, previous.credentialHeaders)) return false;
  return tools.every((tool, index) => tool === previous.tools[index]);
}

function hiddenIn(
  tools: readonly ToolDefinition[],
  { instructions, previous }: { readonly instructions: string | undefined; readonly previous: Snapshot | undefined },
): HiddenInSnapshot {
  // What was taken over from a snapshot without hidden text has none.
  const clean = new Set(previous?.hidden.characters === 0 ? previous.tools : []);
  const counts = tools
    .filter((tool) => !clean.has(tool) && isShownToModel(tool))
    .map(({ name, title, description, inputSchema }) => ({ name, characters: countHidden([name, title, description, inputSchema]) }))
    .filter(({ characters }) => characters > 0);
  return Object.freeze({
    characters: counts.reduce((sum, { characters }) => sum + characters, countHidden(instructions)),
    tools: Object.freeze(counts.map(({ name }) => removeHidden(name).text)),
  });
}

/** False for a tool that only its view may call: `_meta.ui.visibility` is a list without `model` (CONTRACT.md 6.4). */
export function isShownToModel(tool: ToolDefinition): boolean {
  const ui = uiMetaOf(tool);
  return !(isJsonObject(ui) && Array.isArray(ui.visibility) && !ui.visibility.includes('model'));
}
