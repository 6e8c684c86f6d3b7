/** Everything that a terminal does not show as it is: control, format and other invisible characters. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * A text from outside, safe to print: what a terminal would obey or hide stands as its code point, `⟨U+001B⟩`. Tool names and error texts
 * come from toolsets, and an escape sequence among them could rewrite what the user has read.
 */
export function shownText(text: string): string {
  return text.replace(UNSEEN, (point) => `⟨U+${(point.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
}

/** Several names in one phrase: `a, b and 3 more`. */
export function shownNames(names: readonly string[], most = 10): string {
  const first = names.slice(0, most).map(shownText).join(', ');
  return names.length > most ? `${first} and ${names.length - most} more` : first;
}

const CODES = { red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36, dim: 2, bold: 1 } as const;

export type Style = keyof typeof CODES;

export type Paint = (style: Style, text: string) => string;

/** Colours text by terminal codes, or leaves it as it is. */
export function painter(colours: boolean): Paint {
  return (style, text) => (colours ? `\u001B[${CODES[style]}m${text}\u001B[0m` : text);
}

/** The time of day of an instant, as the lines about events begin with it (UTC). Empty for what is no instant. */
export function shownTime(at: string | null | undefined): string {
  const read = Date.parse(at ?? '');
  return Number.isNaN(read) ? '' : new Date(read).toISOString().slice(11, 23);
}
