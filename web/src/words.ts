/** A stretch of one of two compared texts; the same in both, or only in this one. */
export interface Stretch {
  readonly isSame: boolean;
  readonly text: string;
  /** Where it begins in its text. */
  readonly at: number;
}

/** Comparing takes time that grows with the product of both lengths; of longer texts nothing is called the same. */
const MOST_COMPARISONS = 1_000_000;

/** Two lines, each in stretches, compared word by word: most changed descriptions are one long line. */
export function compareWords(before: string, after: string): { readonly before: Stretch[]; readonly after: Stretch[] } {
  const then = wordsOf(before);
  const now = wordsOf(after);
  const kept = commonWords(then, now);
  return { before: stretchesOf(then, kept.old), after: stretchesOf(now, kept.now) };
}

function wordsOf(text: string): string[] {
  return text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}

/** The places of the longest common subsequence, in either text. */
function commonWords(then: readonly string[], now: readonly string[]): { old: Set<number>; now: Set<number> } {
  const kept = { old: new Set<number>(), now: new Set<number>() };
  if (then.length * now.length > MOST_COMPARISONS) return kept;
  const width = now.length + 1;
  const lengths = new Uint32Array((then.length + 1) * width);
  const lengthAt = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = then.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = then[i] === now[j] ? lengthAt(i + 1, j + 1) + 1 : Math.max(lengthAt(i + 1, j), lengthAt(i, j + 1));
    }
  }
  let i = 0;
  let j = 0;
  while (i < then.length && j < now.length) {
    if (then[i] === now[j]) {
      kept.old.add(i++);
      kept.now.add(j++);
    } else if (lengthAt(i + 1, j) >= lengthAt(i, j + 1)) i += 1;
    else j += 1;
  }
  return kept;
}

function stretchesOf(words: readonly string[], kept: ReadonlySet<number>): Stretch[] {
  const stretches: { isSame: boolean; text: string; at: number }[] = [];
  let at = 0;
  for (const [index, word] of words.entries()) {
    const isSame = kept.has(index);
    const last = stretches.at(-1);
    if (last?.isSame === isSame) last.text += word;
    else stretches.push({ isSame, text: word, at });
    at += word.length;
  }
  return stretches;
}
