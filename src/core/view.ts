import { hash } from 'node:crypto';
import { getToolUiResourceUri } from '@modelcontextprotocol/ext-apps/app-bridge';
import { byCodeUnits, isJsonObject } from './json.js';
import type { ToolDefinition } from './tool.js';
import { sha256 } from './tool-digest.js';

/** The longest URI of a view that is accepted, in characters. */
const MAX_URI_LENGTH = 2_048;

const SCHEME = 'ui://';

/** One version of a view: what is delivered to a browser. Frozen; a change makes another one (CONTRACT.md 8.3). */
export interface ViewContent {
  /** The toolset's name in the index. */
  readonly toolset: string;
  readonly uri: string;
  /** `sha256-` and 64 hexadecimal digits. Of the page; where the view declares what it may load, of that too. */
  readonly hash: string;
  readonly html: Uint8Array;
  /** The whole `Content-Security-Policy`. */
  readonly policy: string;
}

/** Which view a tool has, by its `_meta`. */
export type ViewOfTool =
  | { readonly kind: 'none' }
  | { readonly kind: 'view'; readonly uri: string }
  /** It names something that can be no view; the tool itself stays usable. */
  | { readonly kind: 'odd'; readonly reason: string };

/** The view that a tool names: nested `_meta.ui.resourceUri`, or the older flat `_meta["ui/resourceUri"]`; nested wins. */
export function viewOfTool(tool: Pick<ToolDefinition, '_meta'>): ViewOfTool {
  if (!isJsonObject(tool._meta)) return { kind: 'none' };
  let uri: string | undefined;
  try {
    uri = getToolUiResourceUri({ _meta: tool._meta });
  } catch {
    // The helper throws for whatever is no ui:// URI. Its message repeats the value, so it is not kept.
    return { kind: 'odd', reason: 'it is no ui:// URI' };
  }
  if (uri === undefined) return { kind: 'none' };
  if (uri.length > MAX_URI_LENGTH) return { kind: 'odd', reason: `it is longer than ${MAX_URI_LENGTH} characters` };
  return isViewUri(uri) ? { kind: 'view', uri } : { kind: 'odd', reason: 'it is no ui:// URI' };
}

/** Whether this can be the URI of a view: `ui://`, then something without spaces and control characters. */
export function isViewUri(uri: string): boolean {
  return uri.length <= MAX_URI_LENGTH && /^ui:\/\/[!-~\u00a1-\uffff]+$/.test(uri);
}

/** The views that the tools of one toolset name, and the tools whose view cannot be one, each sorted. */
export function viewsOfTools(tools: readonly ToolDefinition[]): {
  readonly uris: readonly string[];
  readonly odd: readonly { readonly tool: string; readonly reason: string }[];
} {
  const uris = new Set<string>();
  const odd: { tool: string; reason: string }[] = [];
  for (const tool of tools) {
    const view = viewOfTool(tool);
    if (view.kind === 'view') uris.add(view.uri);
    else if (view.kind === 'odd') odd.push({ tool: tool.name, reason: view.reason });
  }
  return { uris: [...uris].sort(byCodeUnits), odd: odd.sort((a, b) => byCodeUnits(a.tool, b.tool)) };
}

/**
 * The URIs that `GET /views/{toolset}/{view}` may mean, the likelier first (CONTRACT.md 8.1): most servers write the toolset's name after
 * `ui://`, and the others choose whatever they like.
 */
export function urisOfPath(toolset: string, view: string): readonly string[] {
  return [`${SCHEME}${toolset}/${view}`, SCHEME + view];
}

/** The hash of a page; of its policy too where it declares what it may load, because the two are delivered together. */
export function hashOfPage(html: Uint8Array, policy: string | undefined): string {
  const digest = hash('sha256', html, 'hex');
  return policy === undefined ? `sha256-${digest}` : sha256(`${digest}\n${policy}`);
}
