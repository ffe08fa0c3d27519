/**
 * How wide text is on a terminal, in columns. Counts grapheme clusters: East Asian wide characters
 * and emoji take two columns, combining marks none. Not covered: terminals that draw
 * ambiguous-width characters wide.
 */

const segmenter = new Intl.Segmenter("und", { granularity: "grapheme" });

const ASCII_ONLY = /^[\x20-\x7e]*$/;
const EMOJI = /\p{Emoji_Presentation}|\ufe0f/u;
const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]*$/u;

/** First and last code point of the blocks that Unicode's East Asian Width data calls wide. */
const WIDE_RANGES: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x4dbf],
  [0x4e00, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff01, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18cff],
  [0x1b000, 0x1b2ff],
  [0x1f200, 0x1f2ff],
  [0x20000, 0x3fffd],
];

/** Columns that printable text takes. */
export function displayWidth(text: string): number {
  if (ASCII_ONLY.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += graphemeWidth(segment);
  return width;
}

/**
 * `text`, or when it is wider than `width` its longest start that leaves room for a closing `…`.
 */
export function clipToWidth(text: string, width: number): string {
  // Every UTF-16 unit can be zero wide, so only ASCII text can be told from its length.
  if (displayWidth(text) <= width) return text;
  let kept = "";
  let used = 0;
  for (const { segment } of segmenter.segment(text)) {
    const next = used + graphemeWidth(segment);
    if (next > width - 1) break;
    kept += segment;
    used = next;
  }
  return `${kept}…`;
}

function graphemeWidth(grapheme: string): number {
  if (ZERO_WIDTH.test(grapheme)) return 0;
  if (EMOJI.test(grapheme)) return 2;
  const codePoint = grapheme.codePointAt(0) ?? 0;
  return WIDE_RANGES.some(([first, last]) => codePoint >= first && codePoint <= last) ? 2 : 1;
}

// Control characters, line and paragraph separators, and the marks that reorder text. Stored logs
// must not be able to move the reader's cursor or to show one thing and mean another.
// deno-lint-ignore no-control-regex
const UNSAFE = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

const NAMED_ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * `text` on one line, with everything a terminal would obey written as an escape (`\n`, `\x1b`,
 * `\u202e`).
 */
export function printable(text: string): string {
  return text.toWellFormed().replace(UNSAFE, (character) => {
    const named = NAMED_ESCAPES[character];
    if (named !== undefined) return named;
    const code = character.charCodeAt(0);
    return code > 0xff
      ? `\\u${code.toString(16).padStart(4, "0")}`
      : `\\x${code.toString(16).padStart(2, "0")}`;
  });
}
