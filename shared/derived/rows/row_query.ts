/**
 * What is asked of the indexes of one data file, and their answer.
 *
 * A query is a condition on rows of which some part may be unknown (`all`). The answer is a
 * superset of the rows that meet it: an index may only prune, and DuckDB evaluates the whole
 * predicate again on what is left. A row whose value is NULL meets no condition but `all`.
 */

export type RowQuery =
  /** A condition that nothing is known about: every row may meet it. */
  | { readonly kind: "all" }
  | { readonly kind: "and" | "or"; readonly of: readonly RowQuery[] }
  | TermsQuery
  | SubstringQuery
  | EqualsQuery
  | AttributeQuery;

/**
 * `match_terms`, `match_any`, `match_phrase` and `match_prefix` of `column`, in this order of
 * modes.
 */
export interface TermsQuery {
  readonly kind: "terms";
  readonly column: string;
  readonly mode: "all" | "any" | "phrase" | "prefix";
  readonly text: string;
  /** Words are compared by their stems; but the last one of `prefix` is the beginning of a word. */
  readonly isStemmed?: true;
}

/** `column` contains `text`: a run of literal letters of a LIKE, ILIKE or `contains`. */
export interface SubstringQuery {
  readonly kind: "substring";
  readonly column: string;
  readonly text: string;
  readonly ignoreCase: boolean;
}

/** `column` is one of `values`, compared as text byte by byte. */
export interface EqualsQuery {
  readonly kind: "equals";
  readonly column: string;
  readonly values: readonly string[];
}

/**
 * `attr_get(column, name)` is one of `values`, compared as text byte by byte. A name may be the
 * path to a member within nested objects (`shared/schema/attribute_path.ts`).
 */
export interface AttributeQuery {
  readonly kind: "attribute";
  readonly column: string;
  readonly name: string;
  readonly values: readonly string[];
}

/** Rows of one data file that may meet a query; all others do not. Rows and groups count from 0. */
export type RowSet =
  | { readonly kind: "all" }
  | { readonly kind: "none" }
  /**
   * Ascending and distinct, at least one; in runs, as an index knows places of 16 rows and more.
   */
  | { readonly kind: "rows"; readonly rows: Uint32Array }
  /** Ascending and distinct, at least one: of `groupRows` rows each, of which any row may. */
  | { readonly kind: "groups"; readonly groups: Uint32Array; readonly groupRows: number };
