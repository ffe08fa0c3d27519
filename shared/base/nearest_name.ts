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

/** Levenshtein: insertions, deletions and replacements that turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  let before = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (before[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (before[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    before = row;
  }
  return before[b.length] ?? 0;
}
