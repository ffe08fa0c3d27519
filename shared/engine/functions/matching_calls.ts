/** Calls that match a text with a pattern, by the names that DuckDB's parser gives them. */

import { globPieces, likePieces, type Piece } from "./wildcard_pattern.ts";

/** A form of LIKE, ILIKE or GLOB. */
export interface LikeCall {
  /** How it is shown to people. */
  readonly shown: string;
  /** The call of which this one is the negation. */
  readonly negates?: string;
  /** Whether text and pattern are compared in lower case. */
  readonly isFolded: boolean;
  /** `escape` takes one as its third argument. */
  readonly syntax: "like" | "escape" | "glob";
}

export const LIKE_CALLS: Readonly<Record<string, LikeCall>> = {
  "~~": { shown: "LIKE", isFolded: false, syntax: "like" },
  "!~~": { shown: "NOT LIKE", negates: "~~", isFolded: false, syntax: "like" },
  "~~*": { shown: "ILIKE", isFolded: true, syntax: "like" },
  "!~~*": { shown: "NOT ILIKE", negates: "~~*", isFolded: true, syntax: "like" },
  "~~~": { shown: "GLOB", isFolded: false, syntax: "glob" },
  like_escape: { shown: "LIKE", isFolded: false, syntax: "escape" },
  not_like_escape: {
    shown: "NOT LIKE",
    negates: "like_escape",
    isFolded: false,
    syntax: "escape",
  },
  ilike_escape: { shown: "ILIKE", isFolded: true, syntax: "escape" },
  not_ilike_escape: {
    shown: "NOT ILIKE",
    negates: "ilike_escape",
    isFolded: true,
    syntax: "escape",
  },
};

/** Functions that tell whether a regular expression, their second argument, matches a part. */
export const REGEX_FINDS: readonly string[] = ["regexp_like", "regexp_matches"];

/** Functions that tell whether it matches a part, or all of a text. */
export const REGEX_MATCHES: readonly string[] = [...REGEX_FINDS, "regexp_full_match", "~"];

/** Undefined: what `globPieces` and `likePieces` do not read, and an escape that is none. */
export function piecesOf(
  { syntax }: LikeCall,
  pattern: string,
  escape: string,
): readonly Piece[] | undefined {
  if (!isEscape(escape)) return undefined;
  return syntax === "glob" ? globPieces(pattern) : likePieces(pattern, escape);
}

/** Whether DuckDB takes it for an escape: one byte, or none. It refuses any other. */
export function isEscape(text: string): boolean {
  return /^[\0-\x7f]?$/.test(text);
}

/** Whether an escape may be another letter in lower case, or a letter of the text the escape. */
export function hasCase(escape: string): boolean {
  return /[^\0-@\[-`{-\x7f]/.test(escape);
}
