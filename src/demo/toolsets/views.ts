import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RESOURCE_MIME_TYPE } from '@modelcontextprotocol/ext-apps/app-bridge';
import type { Definition, DemoTool } from './definition.js';
import type { ToolsetOffer } from './toolset-server.js';

/** The URI of the view in which a tool's result is shown; undefined where it has none. */
export function viewUri(toolset: string, { view }: DemoTool): string | undefined {
  return view === undefined ? undefined : `ui://${toolset}/${view}`;
}

/** The files of the views that the tools of a definition name, each once. */
export function viewFiles(definition: Definition): readonly string[] {
  return [...new Set(definition.tools.flatMap(({ view }) => (view === undefined ? [] : [view])))];
}

/** The views as `resources/list` shows them. */
export function listedViews({ name, definition }: ToolsetOffer) {
  return viewFiles(definition()).map((file) => ({ uri: `ui://${name}/${file}`, name: file, mimeType: RESOURCE_MIME_TYPE }));
}

/** The answer of `resources/read`; undefined when no tool has this view. The file is read each time, so that an edited page is served. */
export function viewContents({ name, definition, dataDir }: ToolsetOffer, uri: string) {
  const file = viewFiles(definition()).find((candidate) => uri === `ui://${name}/${candidate}`);
  if (file === undefined) return undefined;
  return [{ uri, mimeType: RESOURCE_MIME_TYPE, text: readFileSync(join(dataDir, file), 'utf8') }];
}
