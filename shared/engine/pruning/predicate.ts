/**
 * What is known of the rows that a statement can need of one table: a condition that each of them
 * meets. It is weaker than the statement's own, never stronger: `all` stands for whatever is not
 * understood. A row whose value is NULL meets no condition but `all`, so a condition also holds for
 * a table on the NULL side of an outer join.
 */

import type { Column, TableSchema } from "../../schema/schema.ts";
import type { AttributeQuery, SubstringQuery, TermsQuery } from "../../derived/rows/row_query.ts";

/** `C` is the form of a column: the statement's name for it, or the table's column. */
export type Predicate<C = string> =
  | { readonly kind: "all" }
  | { readonly kind: "and" | "or"; readonly of: readonly Predicate<C>[] }
  | Leaf<C>;

export type Leaf<C = string> =
  | (Omit<TermsQuery, "column"> & { readonly column: C })
  | (Omit<SubstringQuery, "column"> & { readonly column: C })
  | (Omit<AttributeQuery, "column"> & { readonly column: C })
  | PrefixLeaf<C>
  | MemberLeaf<C>
  | CompareLeaf<C>;

/**
 * An attribute compares so with one of `values`: as the text that `attr_get` gives, or as the
 * number that the text is cast to. Bounds of a promoted column may rule it out.
 */
export interface MemberLeaf<C = string> {
  readonly kind: "member";
  /** The column with the attributes. */
  readonly column: C;
  readonly name: string;
  readonly as: "text" | "double" | "integer";
  readonly operator: CompareOperator;
  readonly values: readonly ConstantValue[];
}

/** The column's text begins with `text`. */
export interface PrefixLeaf<C = string> {
  readonly kind: "starts";
  readonly column: C;
  readonly text: string;
}

export type CompareOperator = "=" | "<" | "<=" | ">" | ">=";

/** The column compares so with one of `values`; operators other than `=` have one value. */
export interface CompareLeaf<C = string> {
  readonly kind: "compare";
  readonly column: C;
  readonly operator: CompareOperator;
  readonly values: readonly ConstantValue[];
}

/** An integer is a bigint, a decimal or floating number a number. */
export type ConstantValue = string | bigint | number | boolean;

export const ALL: { readonly kind: "all" } = { kind: "all" };

/** The conjunction of some predicates. Without any it is `all`. */
export function allOf<C>(of: readonly Predicate<C>[]): Predicate<C> {
  const known = of.filter(({ kind }) => kind !== "all");
  const [only] = known;
  return known.length === 0
    ? ALL
    : known.length === 1 && only !== undefined
    ? only
    : { kind: "and", of: known };
}

/** The alternative of some predicates. With none of them it is `all`, since nothing is known. */
export function anyOf<C>(of: readonly Predicate<C>[]): Predicate<C> {
  const [only] = of;
  if (only === undefined || of.some(({ kind }) => kind === "all")) return ALL;
  return of.length === 1 ? only : { kind: "or", of };
}

/**
 * The predicate over the columns of a table. A leaf that does not fit the table's column becomes
 * `all`.
 */
export function overColumns(predicate: Predicate, table: PredicateTable): Predicate<Column> {
  switch (predicate.kind) {
    case "all":
      return ALL;
    case "and":
      return allOf(predicate.of.map((one) => overColumns(one, table)));
    case "or":
      return anyOf(predicate.of.map((one) => overColumns(one, table)));
    default:
      return leafOver(predicate, table);
  }
}

/** What a predicate must know of its table. */
export interface PredicateTable {
  readonly schema: TableSchema;
  /** Names of the columns whose words are compared by their stems. */
  readonly stemmed: ReadonlySet<string>;
}

function leafOver(
  leaf: Leaf,
  { schema: { columns }, stemmed }: PredicateTable,
): Predicate<Column> {
  const named = columns.filter(({ name }) => name.toLowerCase() === leaf.column);
  const [column] = named;
  // Names that differ only by case are one name to DuckDB.
  if (column === undefined || named.length > 1) return ALL;
  const fits = leaf.kind === "compare"
    ? leaf.values.every((value) => isComparable(column, value))
    : column.type === "string";
  if (!fits) return ALL;
  // Where stems are compared, words are a part of what is found.
  const isStemmed = leaf.kind === "terms" && stemmed.has(column.name);
  return isStemmed ? { ...leaf, column, isStemmed } : { ...leaf, column };
}

/**
 * Whether DuckDB compares the column with the constant as the column's own type, in full
 * precision.
 */
function isComparable({ type }: Column, value: ConstantValue): boolean {
  switch (type) {
    case "string":
      return typeof value === "string";
    case "long":
    case "int":
      return typeof value === "bigint";
    case "double":
      return typeof value === "number" ||
        (typeof value === "bigint" && Number.isSafeInteger(Number(value)));
    case "bool":
      return typeof value === "boolean";
    case "timestamptz":
      return false;
  }
}
