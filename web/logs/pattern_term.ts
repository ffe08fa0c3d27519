/** A term of the search language for the rows of a pattern. */

/** Returns the phrases of the text between the placeholders; undefined: it has no word. */
export function patternTerm(pattern: string): string | undefined {
  const phrases = pattern.split("<*>")
    // Next to a placeholder a word may be a part of a longer one.
    .map((part, at, parts) => wholeWords(part, { starts: at === 0, ends: at === parts.length - 1 }))
    .filter((part) => /[\p{L}\p{N}_]/u.test(part));
  return phrases.length === 0
    ? undefined
    : phrases.map((part) => `"${part.replaceAll(/["\\\0]/g, " ")}"`).join(" ");
}

function wholeWords(
  text: string,
  { starts, ends }: { readonly starts: boolean; readonly ends: boolean },
): string {
  const from = starts ? text : text.replace(/^[\p{L}\p{N}\p{M}_]+/u, "");
  return (ends ? from : from.replace(/[\p{L}\p{N}\p{M}_]+$/u, "")).trim();
}
