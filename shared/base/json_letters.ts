/**
 * Letters of JSON as bytes of UTF-8, for what reads or writes its text byte by byte.
 *
 * The readers of members (`shared/tables`, `shared/derived/text`) name these bytes themselves:
 * with imported ones they took a tenth more time.
 */

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const BRACE = 0x7b;
export const BRACE_END = 0x7d;
export const BRACKET = 0x5b;
export const BRACKET_END = 0x5d;
export const MINUS = 0x2d;
export const POINT = 0x2e;
export const ZERO = 0x30;
export const NINE = 0x39;

/** What may follow a backslash, but for `u`, and the character that the two stand for. */
export const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};
