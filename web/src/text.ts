import type { CatalogChanges } from '../../src/core/status.js';

/** Characters that a reader cannot see, or that change the order of what is read; line breaks and tabs are seen. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/u;

/** A stretch of text; a hidden character is a stretch of its own, written as its code point, for example `U+200B`. */
export interface Stretch {
  readonly text: string;
  readonly isHidden: boolean;
  /** Where it begins in the text. */
  readonly at: number;
}

/** Splits a text so that hidden characters can be shown (CONTRACT.md 15.3). */
export function stretchesOf(text: string): Stretch[] {
  const stretches: Stretch[] = [];
  let at = 0;
  let seen = '';
  const endSeen = () => {
    if (seen !== '') stretches.push({ text: seen, isHidden: false, at: at - seen.length });
    seen = '';
  };
  for (const point of text) {
    if (point === '\n' || point === '\t' || !HIDDEN.test(point)) seen += point;
    else {
      endSeen();
      stretches.push({ text: codePointOf(point), isHidden: true, at });
    }
    at += point.length;
  }
  endSeen();
  return stretches;
}

function codePointOf(point: string): string {
  return `U+${(point.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

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
  if (seconds < 3) return 'now';
  if (seconds < 90) return `${seconds} s ago`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 36 * 3_600) return `${Math.round(seconds / 3_600)} h ago`;
  return `${Math.round(seconds / 86_400)} days ago`;
}
