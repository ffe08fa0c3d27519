/**
 * What a search is: a tree of terms. README.md has the language. Each node has its place in the
 * text, so that errors and completion can point to it.
 */

import type { SearchSpan } from "./search_error.ts";

/** A search, or a part of one. */
export type SearchNode =
  /** Finds every row. */
  | { readonly kind: "all"; readonly span: SearchSpan }
  | SearchGroup
  | { readonly kind: "not"; readonly part: SearchNode; readonly span: SearchSpan }
  | SearchTerm;

/** Parts of which all, or one, must hold; two at least. */
export interface SearchGroup {
  readonly kind: "and" | "or";
  readonly parts: readonly SearchNode[];
  readonly span: SearchSpan;
}

/** One thing to look for. */
export interface SearchTerm {
  readonly kind: "term";
  /** Undefined: the table's text. */
  readonly field: SearchField | undefined;
  readonly match: SearchMatch;
  readonly span: SearchSpan;
}

/** A field as it was named. */
export interface SearchField {
  readonly name: string;
  readonly span: SearchSpan;
}

/** What a term asks of its field. */
export type SearchMatch =
  /** A text has these words side by side; any other field has this value. */
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "prefix"; readonly text: string }
  | { readonly kind: "regex"; readonly pattern: string; readonly ignoresCase: boolean }
  | { readonly kind: "range"; readonly bounds: readonly SearchBound[] }
  /** The field is there. */
  | { readonly kind: "present" };

/** One or two of these make a range. */
export interface SearchBound {
  readonly operator: "<" | "<=" | ">" | ">=";
  readonly value: string;
}

/** What a search may have at most; more is a `SearchError`. */
export const SEARCH_LIMITS = {
  /** Characters of the text. */
  lengthMax: 8_192,
  /** Terms of the search. */
  termsMax: 256,
  /** Parentheses and negations within each other. */
  depthMax: 64,
} as const;
