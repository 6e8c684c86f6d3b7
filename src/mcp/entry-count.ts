/** Texts below this length are parsed in a moment, whatever they hold. */
const WORTH_COUNTING = 1024 * 1024;

/** Of a reply's JSON, the depth of the entries of a list: inside the message, the result, and the list itself. */
const DEPTH_OF_ENTRIES = 3;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/**
 * True when a reply's JSON is long and its lists together have more than `most` entries. Parsing a million objects would hold up
 * everybody for about a second; counting up to the bound takes no time (CONTRACT.md 2.7, 14.1). What is no JSON is counted as far as it looks like it.
 */
export function hasMoreEntries(text: string, most: number): boolean {
  if (text.length < WORTH_COUNTING) return false;
  let depth = 0;
  let commas = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COMMA && depth === DEPTH_OF_ENTRIES) {
      commas += 1;
      if (commas >= most) return true;
    } else if (OPENING.has(code)) depth += 1;
    else if (CLOSING.has(code)) depth -= 1;
  }
  return false;
}

/** The index of the quotation mark that ends the string which begins at `start`. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE) return at;
  }
  return text.length;
}
