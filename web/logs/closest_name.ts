/** The name that somebody may have meant: `servicename` is `service.name`. */

const EDITS_SHARE_MAX = 1 / 3;

/** Returns the known name that is most like `name`; undefined: none is. */
export function closestName(name: string, known: Iterable<string>): string | undefined {
  let best: { readonly name: string; readonly score: number } | undefined;
  for (const candidate of known) {
    const score = scoreOf(name, candidate);
    if (score !== undefined && (best === undefined || score < best.score)) {
      best = { name: candidate, score };
    }
  }
  return best?.name;
}

/** The less the likelier; undefined: another word. */
function scoreOf(name: string, candidate: string): number | undefined {
  const [a, b] = [plain(name), plain(candidate)];
  if (a === "" || b === "") return undefined;
  if (a === b) return 0;
  const lengthMax = Math.max(a.length, b.length);
  const edits = editsBetween(a, b);
  if (edits <= lengthMax * EDITS_SHARE_MAX) return edits;
  // `status` for `http.status_code`.
  const parts = candidate.toLowerCase().split(/[^\p{L}\p{N}]+/u);
  return parts.includes(name.toLowerCase()) ? lengthMax : undefined;
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, "");
}

/** Letters to add, to take away, to change, or to swap with the next one. */
function editsBetween(a: string, b: string): number {
  let before: readonly number[] = [];
  let previous: readonly number[] = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 0; i < a.length; i += 1) {
    const row = [i + 1];
    for (let j = 0; j < b.length; j += 1) {
      const change = (previous[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      const isSwapped = a[i] === b[j - 1] && a[i - 1] === b[j];
      const swap = isSwapped ? (before[j - 1] ?? Infinity) + 1 : Infinity;
      row.push(Math.min(change, swap, (previous[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1));
    }
    before = previous;
    previous = row;
  }
  return previous.at(-1) ?? 0;
}
