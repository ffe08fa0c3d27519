/** A text, such as one that was selected, as a term of the search language. */

const PLAIN_WORD = /^[\p{L}\p{N}_][\p{L}\p{N}_.-]*$/u;

/** Returns the word, or the phrase in quotes; undefined: it has nothing to look for. */
export function phraseTerm(text: string): string | undefined {
  const line = text.replaceAll("\0", " ").trim();
  if (line === "") return undefined;
  if (PLAIN_WORD.test(line) && !/^(?:AND|OR|NOT)$/.test(line)) return line;
  return `"${line.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}
