/** Words that say nothing about what a question is about. They never count and are never part of a name. */
const STOP_WORDS = new Set(
  `a about again all also am an and any anything are as at be been but by can could did do does doing done else every everything for from
  had has have having hello hey hi how i if in into is it its just know let like may me might more most much my name no not of on once one only
  or other our out over own please put same say says she should so some something such tell tells than that the their them then there these
  they thing things this those to too up us use used uses using very want was we well were what whats when which while who whose why will
  with would you your yours`.split(/\s+/),
);

const WORD = /[\p{L}\p{N}]+(?:['’][\p{L}]+)?/gu;

/** One word of a text, as it stands there and as it is compared. */
export interface Word {
  readonly text: string;
  readonly stem: string;
  readonly isStop: boolean;
}

/** The words of a text in their order. `snake_case` and `camelCase` names fall into their parts. */
export function wordsOf(text: string): readonly Word[] {
  const parts = text.replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2').match(WORD) ?? [];
  return parts.map((part) => {
    const plain = plainOf(part);
    return { text: part, stem: stemOf(plain), isStop: STOP_WORDS.has(plain) };
  });
}

/** The stems of the words that count, each once. */
export function stemsOf(text: string): ReadonlySet<string> {
  return new Set(
    wordsOf(text)
      .filter((word) => !word.isStop)
      .map((word) => word.stem),
  );
}

/** Lower case, without accents and without a final 's: `São` and `sao` are the same word. */
function plainOf(word: string): string {
  return word
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/['’]\p{L}+$/u, '');
}

/** Takes the common English endings off, so that `refreshing`, `refreshes` and `refresh` are one word. Numbers stay as they are. */
function stemOf(plain: string): string {
  let stem = plain;
  if (/\d/.test(stem) || stem.length < 4) return stem;
  if (/[^s]s$/.test(stem)) stem = stem.slice(0, -1);
  if (stem.length > 5 && stem.endsWith('ing')) stem = stem.slice(0, -3);
  else if (stem.length > 4 && stem.endsWith('ed')) stem = stem.slice(0, -2);
  if (stem.length > 3 && stem.endsWith('e')) stem = stem.slice(0, -1);
  if (stem.endsWith('y')) stem = `${stem.slice(0, -1)}i`;
  return stem.replace(/([^aeious])\1$/, '$1');
}
