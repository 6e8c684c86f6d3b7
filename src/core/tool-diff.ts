import { markHidden } from './hidden-text.js';
import { byCodeUnits, isJsonObject } from './json.js';
import { type DiffLine, diffLines } from './text-diff.js';
import type { JsonObject } from './tool.js';

/** How one field of a tool's definition differs. Hidden characters are written as their code points, `⟨U+200B⟩` for example. */
export interface FieldDiff {
  readonly field: string;
  readonly lines: readonly DiffLine[];
}

/** The fields that differ between two definitions of a tool, sorted; null stands for a tool that is not there (CONTRACT.md 15.3). */
export function diffTool(before: JsonObject | null, after: JsonObject | null): readonly FieldDiff[] {
  const fields = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...fields].sort(byCodeUnits).flatMap((field) => diffField(markHidden(field), before?.[field], after?.[field]));
}

/** How one value differs, as a list of one; empty where it does not. */
export function diffField(field: string, before: unknown, after: unknown): readonly FieldDiff[] {
  const then = linesOf(before);
  const now = linesOf(after);
  const same = then.length === now.length && then.every((line, index) => line === now[index]);
  return same ? [] : [{ field, lines: diffLines(then, now) }];
}

function linesOf(value: unknown): string[] {
  if (value === undefined) return [];
  const text = typeof value === 'string' ? value : JSON.stringify(sorted(value), null, 2);
  return markHidden(text).split('\n');
}

/** The order of keys means nothing, so it must not show as a difference. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort(byCodeUnits)
      .map((key) => [key, sorted(value[key])]),
  );
}
