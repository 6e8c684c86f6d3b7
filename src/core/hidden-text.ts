import { isJsonObject } from './json.js';

/** A text without hidden characters, and how many code points were removed. */
export interface CleanText {
  readonly text: string;
  readonly removed: number;
}

/**
 * Every code point that is invisible or steers the direction of text: control characters, format characters (among them the
 * zero-width and bidirectional ones and the TAG block), variation selectors, blank letters and half surrogate pairs.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/u;

/** Format characters that are seen: they enclose or precede the digits of Arabic, Syriac and other numbers and verses. */
const VISIBLE_FORMAT = /[\u{0600}-\u{0605}\u{06DD}\u{070F}\u{0890}\u{0891}\u{08E2}\u{110BD}\u{110CD}]/u;

/** The only flags that are written with tags: England, Scotland, Wales. */
const TAG_FLAGS = ['gbeng', 'gbsct', 'gbwls'].map(
  (code) => `${String.fromCodePoint(...Array.from(code, (letter) => 0xe0000 + letter.charCodeAt(0)), 0xe007f)}`,
);

const BLACK_FLAG = '\u{1F3F4}';
const ZWNJ = '\u{200C}';
const ZWJ = '\u{200D}';
const TEXT_STYLE = '\u{FE0E}';
const EMOJI_STYLE = '\u{FE0F}';
const KEYCAP = '\u{20E3}';

/** Letters and marks of the scripts in which joiners change what is read: the Arabic family, and the scripts of Indic origin. */
const JOINING_LETTER =
  /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Nko}\p{Script=Mongolian}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const LETTER_OR_MARK = /[\p{L}\p{M}]/u;

/**
 * Removes what a reader cannot see, since hidden text carries hidden instructions (CONTRACT.md 14.1). What a reader can see the effect of
 * stays: joiners inside emoji, and between two letters of scripts that need them (a joiner at the end of a word goes); one
 * style selector after an emoji; the flags of England, Scotland and Wales. Direction marks (U+200E, U+200F, U+061C) always go: they only
 * change how a screen orders the text, and a model reads it in logical order.
 */
export function removeHidden(text: string): CleanText {
  if (!HIDDEN.test(text)) return { text, removed: 0 };
  const points = Array.from(text);
  let kept = '';
  let removed = 0;
  for (let index = 0; index < points.length; ) {
    const length = lengthOfSeen(points, index);
    if (length === 0) removed += 1;
    else kept += points.slice(index, index + length).join('');
    index += Math.max(length, 1);
  }
  return { text: kept, removed };
}

/** The text with every hidden code point written out, `⟨U+200B⟩` for example, so that people see what a model would not be shown (CONTRACT.md 15.3). */
export function markHidden(text: string): string {
  if (!HIDDEN.test(text)) return text;
  const points = Array.from(text);
  let shown = '';
  for (let index = 0; index < points.length; ) {
    const length = lengthOfSeen(points, index);
    const hex = (points[index]?.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    shown += length === 0 ? `⟨U+${hex}⟩` : points.slice(index, index + length).join('');
    index += Math.max(length, 1);
  }
  return shown;
}

/** How many hidden code points the texts of a JSON value have, its object keys among them. The value must be as shallow as a judged tool. */
export function countHidden(value: unknown): number {
  if (typeof value === 'string') return removeHidden(value).removed;
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + countHidden(item), 0);
  if (!isJsonObject(value)) return 0;
  return Object.entries(value).reduce((sum, [key, item]) => sum + removeHidden(key).removed + countHidden(item), 0);
}

/** How many code points from `index` on are to be kept together; 0 when the one at `index` is hidden. */
function lengthOfSeen(points: readonly string[], index: number): number {
  const point = points[index] as string;
  if (point === BLACK_FLAG) {
    const flag = TAG_FLAGS.find((tags) => points.slice(index + 1, index + 7).join('') === tags);
    return flag === undefined ? 1 : 7;
  }
  if (!HIDDEN.test(point) || VISIBLE_FORMAT.test(point) || point === '\n' || point === '\t' || point === '\r') return 1;
  const before = points[index - 1] ?? '';
  const after = points[index + 1] ?? '';
  if (point === ZWJ && joinsEmoji(points, index)) return 1;
  if ((point === ZWJ || point === ZWNJ) && isJoiningLetter(before) && isJoiningLetter(after)) return 1;
  if (point === EMOJI_STYLE || point === TEXT_STYLE) return isStyled(before, after) ? 1 : 0;
  return 0;
}

function joinsEmoji(points: readonly string[], index: number): boolean {
  const before = points[index - 1] === EMOJI_STYLE ? points[index - 2] : points[index - 1];
  return isPictograph(before ?? '') && isPictograph(points[index + 1] ?? '');
}

/** Pictures and the skin colours that follow them. */
function isPictograph(point: string): boolean {
  return /^[\p{Extended_Pictographic}\p{Emoji_Modifier}]$/u.test(point);
}

/** Digits are emoji only as keycaps; a selector after any other digit would be seen by nobody. */
function isStyled(before: string, after: string): boolean {
  return isPictograph(before) || (/^[0-9#*]$/.test(before) && after === KEYCAP);
}

function isJoiningLetter(point: string): boolean {
  return JOINING_LETTER.test(point) && LETTER_OR_MARK.test(point);
}
