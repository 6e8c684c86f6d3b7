import type { Catalog } from '../core/catalog.js';
import { removeHidden } from '../core/hidden-text.js';

/** Used where no system prompt is configured. */
export const DEFAULT_SYSTEM_PROMPT = 'You are a helpful assistant. Use the tools where they help.';

/** How much of one toolset's instructions the model is shown, in bytes of UTF-8 (CONTRACT.md 6.5). */
const INSTRUCTIONS_MAX_BYTES = 16 * 1024;

/** The system message: the host's prompt, then each toolset's instructions under its name, in the catalog's order (CONTRACT.md 6.5). */
export function systemMessage(prompt: string, catalog: Catalog): string {
  const parts = catalog.snapshots.flatMap(({ toolset, instructions }) => {
    const shown = cut(removeHidden(instructions ?? '').text.trim());
    return shown === '' ? [] : [`## ${removeHidden(toolset).text}\n${shown}`];
  });
  return [prompt, ...parts].filter((part) => part !== '').join('\n\n');
}

/** Cuts at a character's border: half a character at the end is left out. */
function cut(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= INSTRUCTIONS_MAX_BYTES) return text;
  return new TextDecoder().decode(bytes.subarray(0, INSTRUCTIONS_MAX_BYTES), { stream: true });
}
