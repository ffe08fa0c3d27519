/** Where a text has what was searched for. */

import type { SearchMatch, SearchNode } from "../../shared/search/search_syntax.ts";
import { type SearchTable, searchTarget } from "../../shared/search/search_fields.ts";

/** Characters [start, end) of a text. */
export interface Mark {
  readonly start: number;
  readonly end: number;
}

/** What to look for in the text of rows. */
export interface Marker {
  readonly pattern: RegExp;
  /** Texts beyond this are marked up to here: the pattern's time grows with its square. */
  readonly charsMax: number;
}

const WORD = String.raw`[\p{L}\p{N}\p{M}_]`;
const BETWEEN_WORDS = String.raw`[^\p{L}\p{N}\p{M}_]+`;
const WORDS_CHARS_MAX = 4_000_000;
const REGEX_CHARS_MAX = 500;
const MARKS_MAX = 1_000;

/** Returns what a search looks for in the text of rows, and nothing that it leaves out. */
export function markersOf(search: SearchNode, table: SearchTable): readonly Marker[] {
  switch (search.kind) {
    case "and":
    case "or":
      return search.parts.flatMap((part) => markersOf(part, table));
    case "term": {
      const { field, match } = search;
      if (field !== undefined && searchTarget(field.name, table).kind !== "text") return [];
      const marker = markerOf(match);
      return marker === undefined ? [] : [marker];
    }
    default:
      return [];
  }
}

function markerOf(match: SearchMatch): Marker | undefined {
  if (match.kind === "text" || match.kind === "prefix") {
    const words = match.text.match(/[\p{L}\p{N}\p{M}_]+/gu);
    const pattern = words === null
      ? escaped(match.text)
      : `(?<!${WORD})${words.join(BETWEEN_WORDS)}${match.kind === "text" ? `(?!${WORD})` : ""}`;
    return pattern === ""
      ? undefined
      : { pattern: new RegExp(pattern, "giu"), charsMax: WORDS_CHARS_MAX };
  }
  return match.kind === "regex" ? regexMarker(match) : undefined;
}

function escaped(text: string): string {
  return text.replaceAll(/[$()*+./?[\\\]^{|}]/g, String.raw`\$&`);
}

/**
 * The server's expressions take linear time and a browser's do not: one that repeats a group, or
 * repeats without end more than once, is not marked.
 */
function regexMarker(
  { pattern, ignoresCase }: { readonly pattern: string; readonly ignoresCase: boolean },
): Marker | undefined {
  const plain = pattern.replaceAll(/\\./gs, "_").replaceAll(/\[[^\]]*\]/g, "_");
  const endless = plain.match(/[*+]|\{\d+,/g)?.length ?? 0;
  if (endless > 1 || /\)[*+{]/.test(plain)) return undefined;
  try {
    return {
      pattern: new RegExp(pattern, ignoresCase ? "giu" : "gu"),
      charsMax: REGEX_CHARS_MAX,
    };
  } catch {
    // RE2 knows what JavaScript does not.
    return undefined;
  }
}

/** Returns the places in order; none overlaps another. */
export function marksIn(text: string, markers: readonly Marker[]): readonly Mark[] {
  const marks: Mark[] = [];
  for (const { pattern, charsMax } of markers) {
    for (const found of text.slice(0, charsMax).matchAll(pattern)) {
      if (found[0] !== "") marks.push({ start: found.index, end: found.index + found[0].length });
      if (marks.length >= MARKS_MAX) break;
    }
  }
  marks.sort((a, b) => a.start - b.start || b.end - a.end);
  const apart: Mark[] = [];
  for (const mark of marks) {
    if (mark.start >= (apart.at(-1)?.end ?? 0)) apart.push(mark);
  }
  return apart;
}

/** A line that is cut to what is seen of it. */
export interface CutLine {
  /** Where the shown text begins. */
  readonly start: number;
  readonly text: string;
  readonly marks: readonly Mark[];
}

/** Characters before a match that stay in view, and those that a line has at most. */
const BEFORE_MATCH = 24;
const LINE_CHARS_MAX = 1_000;

/** Cuts a text to one line with the first match in view; `seenChars` fit on it. */
export function cutLine(
  text: string,
  markers: readonly Marker[],
  seenChars: number,
): CutLine {
  const all = marksIn(text, markers);
  const first = all[0];
  const start = first === undefined || first.end <= seenChars
    ? 0
    : Math.max(0, first.start - BEFORE_MATCH);
  const end = Math.min(text.length, start + LINE_CHARS_MAX);
  const marks = all.flatMap((mark) =>
    mark.start >= start && mark.end <= end
      ? [{ start: mark.start - start, end: mark.end - start }]
      : []
  );
  return { start, text: text.slice(start, end), marks };
}
