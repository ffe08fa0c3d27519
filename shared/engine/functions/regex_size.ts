import { PATTERN_SIZE_MAX } from "../limits.ts";

/**
 * About how large a regular expression is for DuckDB (RE2): the characters and sets that it is made
 * of, each counted as often as it is repeated. Where RE2 cannot make a table of its states, it
 * tries all of them at each character of a text.
 */
export function regexSize(pattern: string): number {
  if (pattern.length > READ_LENGTH_MAX) return pattern.length;
  // Sizes of the groups that are open, and of the last piece of each.
  const open: { total: number; last: number }[] = [{ total: 0, last: 0 }];
  const add = (size: number) => {
    const group = open.at(-1) as { total: number; last: number };
    group.total += size;
    group.last = size;
  };
  for (const [piece, , , least, comma, most] of pattern.matchAll(PIECES)) {
    if (piece.startsWith("(")) open.push({ total: 1, last: 0 });
    else if (piece === ")") {
      const group = open.length > 1 ? open.pop() : undefined;
      add(group?.total ?? 1);
    } else if (least !== undefined) {
      const times = Math.max(1, Number(most || least) + (comma !== undefined && !most ? 1 : 0));
      const group = open.at(-1) as { total: number; last: number };
      const more = group.last * (times - 1);
      group.total += more;
      group.last += more;
    } else if (!/^[*+?|]/.test(piece)) add(/^\\[pP]/.test(piece) ? CLASS_SIZE : 1);
  }
  return open.reduce((sum, { total }) => sum + total, 0);
}

/**
 * Longer expressions are counted by their letters: reading one takes quadratic time in brackets
 * that nothing closes.
 */
const READ_LENGTH_MAX = 4 * PATTERN_SIZE_MAX;

/** Size of a class of letters of all scripts. */
const CLASS_SIZE = 8;

/** An escape, a set, the beginning of a group, a repetition, or one character. */
const PIECES =
  /\\(?:[pP](?:\{\^?\w+\}|\w)|x\{[0-9a-fA-F]+\}|[^])|(\[\^?\]?(?:\[:\^?\w+:\]|\\[^]|[^\]\\])*\])|(\((?:\?(?:P?<\w+>|[\w-]*:?))?)|\{(\d+)(,)?(\d*)\}|[^]/g;
