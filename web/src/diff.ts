/** A stretch of two compared texts. */
export interface Piece {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
  /** Where it begins: pieces are in order, so that this tells two equal ones apart. */
  readonly at: number;
}

/** Comparing takes time and memory that grow with the product of both lengths; larger texts are shown as removed and added. */
const MOST_COMPARISONS = 4_000_000;

/** Unchanged lines that are kept around a change; what lies further away is left out. */
const CONTEXT_LINES = 2;

/** The longest common subsequence of two texts, by words or by lines, as pieces that are the same, removed or added. */
export function diffOf(before: string, after: string, by: 'words' | 'lines'): Piece[] {
  const split = (text: string) => text.match(by === 'words' ? /\s+|[^\s]+/gu : /[^\n]*\n|[^\n]+$/gu) ?? [];
  const steps = stepsOf(split(before), split(after));
  const joined: { kind: Piece['kind']; parts: string[] }[] = [];
  for (const { kind, text } of steps) {
    const last = joined.at(-1);
    if (last?.kind === kind) last.parts.push(text);
    else joined.push({ kind, parts: [text] });
  }
  const shown =
    by === 'words' ? joined : joined.map((piece, index) => shortened(piece, { isFirst: index === 0, isLast: index === joined.length - 1 }));
  let at = 0;
  return shown.map(({ kind, parts }) => {
    const piece = { kind, text: parts.join(''), at };
    at += piece.text.length;
    return piece;
  });
}

function shortened<P extends { kind: Piece['kind']; parts: string[] }>(
  piece: P,
  { isFirst, isLast }: { isFirst: boolean; isLast: boolean },
) {
  const { kind, parts } = piece;
  if (kind !== 'same' || parts.length <= 2 * CONTEXT_LINES + 1) return piece;
  const head = isFirst ? [] : parts.slice(0, CONTEXT_LINES);
  const tail = isLast ? [] : parts.slice(-CONTEXT_LINES);
  return { kind, parts: [...head, '⋯\n', ...tail] };
}

interface Step {
  readonly kind: Piece['kind'];
  readonly text: string;
}

function stepsOf(before: readonly string[], after: readonly string[]): Step[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before[before.length - 1 - end] === after[after.length - 1 - end])
    end += 1;
  const same = (texts: readonly string[]) => texts.map((text): Step => ({ kind: 'same', text }));
  const middle = between(before.slice(start, before.length - end), after.slice(start, after.length - end));
  return [...same(before.slice(0, start)), ...middle, ...same(before.slice(before.length - end))];
}

function between(before: readonly string[], after: readonly string[]): Step[] {
  const removed = before.map((text): Step => ({ kind: 'removed', text }));
  const added = after.map((text): Step => ({ kind: 'added', text }));
  if (removed.length * added.length > MOST_COMPARISONS) return [...removed, ...added];
  const width = after.length + 1;
  // lengths[i * width + j] is the length of the longest common subsequence of what follows i and j.
  const lengths = new Uint32Array((before.length + 1) * width);
  const lengthAt = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = before[i] === after[j] ? lengthAt(i + 1, j + 1) + 1 : Math.max(lengthAt(i + 1, j), lengthAt(i, j + 1));
    }
  }
  const steps: Step[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) {
      steps.push({ kind: 'same', text: before[i] as string });
      i += 1;
      j += 1;
    } else if (lengthAt(i + 1, j) >= lengthAt(i, j + 1)) steps.push(removed[i++] as Step);
    else steps.push(added[j++] as Step);
  }
  return [...steps, ...removed.slice(i), ...added.slice(j)];
}
