/**
 * The literal texts that whatever a regular expression matches must have, in this order and side by
 * side at most. Undefined: there are none, the expression is nothing but one, or it has something
 * that is not read here. Groups, alternatives within them, sets and repetitions are stepped over.
 */
export function regexLiterals(pattern: string): readonly string[] | undefined {
  if (!pattern.isWellFormed()) return undefined;
  const literals: string[] = [];
  let text = "";
  let hasMore = false;
  const close = () => {
    if (text !== "") literals.push(text);
    text = "";
    hasMore = true;
  };
  for (let at = 0; at < pattern.length;) {
    PIECE.lastIndex = at;
    const piece = PIECE.exec(pattern);
    if (piece === null) return undefined;
    const [whole, letter, escaped, group, repetition] = piece;
    at += whole.length;
    if (group !== undefined) {
      const end = groupEnd(pattern, at);
      if (end === undefined) return undefined;
      at = end;
    }
    const literal = letter ?? escaped;
    if (literal !== undefined) {
      text += literal;
    } else {
      // What may be repeated no times need not be there.
      if (repetition !== undefined && !repetition.startsWith("+")) {
        text = [...text].slice(0, -1).join("");
      }
      close();
    }
  }
  if (!hasMore) return undefined;
  close();
  return literals.length === 0 ? undefined : literals;
}

const SET = String.raw`\[\^?\]?(?:\[:\^?\w+:\]|\\[^]|[^\]\\\[])*\]`;
/** A letter, one that is escaped, the start of a group, a repetition, or what is stepped over. */
const PIECE = new RegExp(
  String
    .raw`([^\\^$.|?*+()[\]{}])|\\([^A-Za-z0-9])|(\((?:\?:)?(?!\?))|([*+?]\??|\{\d+(?:,\d*)?\}\??)|` +
    String.raw`\.|\^|\$|\\[dDwWsSbBAz]|${SET}`,
  "yu",
);
/** What a group may have in it. */
const INNER = new RegExp(String.raw`\\[^A-Za-z0-9]|\\[dDwWsSbBAz]|${SET}|[^\\[]`, "yu");

/** Where the group ends whose content begins at `start`. */
function groupEnd(pattern: string, start: number): number | undefined {
  let depth = 1;
  for (let at = start; at < pattern.length;) {
    INNER.lastIndex = at;
    const piece = INNER.exec(pattern)?.[0];
    if (piece === undefined) return undefined;
    at += piece.length;
    if (piece.startsWith("(")) depth += 1;
    else if (piece === ")") depth -= 1;
    if (depth === 0) return at;
  }
  return undefined;
}
