import type { CatalogChanges } from '../../src/core/status.js';

/** JSON with line breaks; a text that is no JSON as it is. */
export function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Most tools answer with plain text.
    return text;
  }
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}

/** For example "1 tool added, 2 changed"; "the same tools" where the model sees no difference. */
export function changesInWords({ added, removed, changed }: CatalogChanges): string {
  const parts = [
    [added.length, 'added'],
    [removed.length, 'removed'],
    [changed.length, 'changed'],
  ].filter(([number]) => number !== 0);
  if (parts.length === 0) return 'the same tools';
  return parts.map(([number, what], index) => (index === 0 ? `${count(Number(number), 'tool')} ${what}` : `${number} ${what}`)).join(', ');
}

/** How long ago something was, in its largest unit. */
export function age(at: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(at)) / 1_000));
  if (seconds < 3) return 'just now';
  if (seconds < 90) return `${seconds} s ago`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 36 * 3_600) return `${Math.round(seconds / 3_600)} h ago`;
  return `${Math.round(seconds / 86_400)} days ago`;
}
