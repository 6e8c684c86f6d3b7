/** The names, those first that a mistyped name is most likely meant for. */
export function closestFirst(names: readonly string[], mistyped: string): string[] {
  const wanted = mistyped.toLowerCase();
  const distances = new Map(names.map((name) => [name, distance(name.toLowerCase(), wanted)]));
  return [...names].sort((a, b) => (distances.get(a) ?? 0) - (distances.get(b) ?? 0) || (a < b ? -1 : 1));
}

/** How many characters have to be put in, taken out or replaced to make one text of the other (Levenshtein). */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
