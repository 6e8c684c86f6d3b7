/** One line of two compared texts. `skipped` stands for unchanged lines that lie further away from a change; its text says how many. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added' | 'skipped';
  readonly text: string;
}

/** Comparing takes time that grows with the product of both lengths; beyond this, lines are shown as removed and added. */
const MOST_COMPARISONS = 1_000_000;

/** Unchanged lines that are kept on each side of a change. */
const CONTEXT_LINES = 3;

/** Compares two texts line by line: the fewest lines that were removed and added, with some unchanged ones around them. */
export function diffLines(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  return shorten([
    ...before.slice(0, start).map((text): DiffLine => ({ kind: 'same', text })),
    ...compare(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map((text): DiffLine => ({ kind: 'same', text })),
  ]);
}

function compare(before: readonly string[], after: readonly string[]): DiffLine[] {
  const removed = before.map((text): DiffLine => ({ kind: 'removed', text }));
  const added = after.map((text): DiffLine => ({ kind: 'added', text }));
  if (before.length * after.length > MOST_COMPARISONS) return [...removed, ...added];
  const width = after.length + 1;
  // common[i * width + j] is how many lines can be kept of what follows line i of the one and line j of the other.
  const common = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) {
      lines.push({ kind: 'same', text: before[i] ?? '' });
      i += 1;
      j += 1;
    } else if (at(i + 1, j) >= at(i, j + 1)) lines.push(...removed.slice(i, ++i));
    else lines.push(...added.slice(j, ++j));
  }
  return [...lines, ...removed.slice(i), ...added.slice(j)];
}

function shorten(lines: readonly DiffLine[]): DiffLine[] {
  const kept = new Set<number>();
  for (const [index, { kind }] of lines.entries()) {
    if (kind === 'same') continue;
    for (let near = index - CONTEXT_LINES; near <= index + CONTEXT_LINES; near += 1) kept.add(near);
  }
  const shown: DiffLine[] = [];
  let skipped = 0;
  const skip = () => {
    if (skipped > 0) shown.push({ kind: 'skipped', text: String(skipped) });
    skipped = 0;
  };
  for (const [index, line] of lines.entries()) {
    if (!kept.has(index)) {
      skipped += 1;
      continue;
    }
    skip();
    shown.push(line);
  }
  skip();
  return shown;
}
