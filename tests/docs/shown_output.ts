/** Whether a command printed what its page shows: the same words, with other numbers. */

/** What differs from run to run, and what it may be instead. The first that fits counts. */
const LOOSE: readonly (readonly [RegExp, string])[] = [
  [/…/, "[\\s\\S]*?"],
  // A UUID, or an id of a trace or a snapshot.
  [
    /\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/,
    "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}",
  ],
  [/\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{16,}\b/, "[0-9a-f]{16,}"],
  // A number with its unit, which grows with it.
  [/\d[\d.,]* (?:[KMG]iB|B)\b/, "[\\d.,]+\\s*(?:[KMG]iB|B)"],
  [/\d[\d.,]* m?s\b/, "[\\d.,]+\\s*(?:m?s)"],
  [/\d[\d,]* (?:rows|row|files|file)\b/, "[\\d,]+\\s*(?:rows?|files?)"],
  [/\d+(?:[.,]\d+)*/, "\\d+(?:[.,]\\d+)*"],
  // The rule under a table's head is as long as its columns are wide.
  [/-{3,}(?:\+-{3,})*/, "-+(?:\\+-+)*"],
  [/\s+/, "\\s*"],
];

/** `shown` as a pattern for a whole output. White space may be more, less or none. */
export function shownPattern(shown: string): RegExp {
  const any = new RegExp(LOOSE.map(([loose]) => `(${loose.source})`).join("|"), "g");
  let pattern = "";
  let from = 0;
  for (const match of shown.matchAll(any)) {
    pattern += escaped(shown.slice(from, match.index));
    const which = match.slice(1).findIndex((group) => group !== undefined);
    pattern += LOOSE[which]?.[1] ?? "";
    from = match.index + match[0].length;
  }
  return new RegExp(`^\\s*${pattern}${escaped(shown.slice(from))}\\s*$`);
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
