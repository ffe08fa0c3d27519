/** The known name that is nearest to an unknown one, for "did you mean". */

/**
 * The candidate with the fewest edits from `word`, at most `share` of the letters of the longer
 * one; undefined: none.
 */
export function nearestName(
  word: string,
  candidates: Iterable<string>,
  share = 1 / 2,
): string | undefined {
  let nearest: string | undefined;
  let editsLeast = Infinity;
  for (const candidate of candidates) {
    const editsMax = share * Math.max(word.length, candidate.length);
    // It takes as many at least; so long words cost nothing.
    if (Math.abs(word.length - candidate.length) > editsMax) continue;
    const edits = editDistance(word, candidate);
    if (edits > editsMax || edits >= editsLeast) continue;
    nearest = candidate;
    editsLeast = edits;
  }
  return nearest;
}

/** Letters to add, to take away, to change, or to swap with the next one, until `a` is `b`. */
function editDistance(a: string, b: string): number {
  let before: readonly number[] = [];
  let previous: readonly number[] = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 0; i < a.length; i += 1) {
    const row = [i + 1];
    for (let j = 0; j < b.length; j += 1) {
      const changed = (previous[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      const isSwapped = j > 0 && a[i] === b[j - 1] && a[i - 1] === b[j];
      const swapped = isSwapped ? (before[j - 1] ?? Infinity) + 1 : Infinity;
      row.push(Math.min(changed, swapped, (previous[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1));
    }
    before = previous;
    previous = row;
  }
  return previous[b.length] ?? 0;
}
