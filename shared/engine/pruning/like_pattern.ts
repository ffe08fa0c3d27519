/** What a LIKE pattern says of the texts that match it. */

import { likePieces } from "../functions/wildcard_pattern.ts";

/** Texts that each matching text holds. */
export interface LikeParts {
  /** Runs of literal letters, in order, none empty. */
  readonly runs: readonly string[];
  /** Whether the first run begins the text. */
  readonly startsText: boolean;
  /** Whether there is no wildcard: a matching text is the one run, or empty. */
  readonly isWhole: boolean;
}

/**
 * Reads a LIKE pattern. Undefined: it ends in its escape, which DuckDB refuses. `escape`: one
 * letter, or none.
 */
export function likeParts(pattern: string, escape = ""): LikeParts | undefined {
  const pieces = likePieces(pattern, escape);
  if (pieces === undefined) return undefined;
  const runs = pieces.flatMap((piece) => typeof piece === "object" ? [piece.text] : []);
  return {
    runs,
    startsText: typeof pieces[0] === "object",
    isWhole: runs.length === pieces.length,
  };
}
