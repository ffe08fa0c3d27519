/**
 * Whether a row can meet what is known of the rows that a statement needs. Places of indexes are of
 * 16 rows and more, so most rows that they give do not; of these only the columns of the condition
 * are read.
 *
 * A row that is left out certainly does not meet the condition. What would have to be done just as
 * DuckDB does it (order of texts, words, JSON) is done by something weaker, or counts as met.
 */

import { tokenize } from "../../../derived/text/tokenize.ts";
import type { StoredValue } from "../../../parquet/reader/chunk_rows.ts";
import type { Column } from "../../../schema/schema.ts";
import type { CompareLeaf, Leaf, Predicate } from "../../pruning/predicate.ts";

/** The values of one row, by column; undefined for one that was not read. */
export type RowValues = (column: Column) => StoredValue | undefined;
export type RowFilter = (row: RowValues) => boolean;

/** Columns that a condition is about. */
export function conditionColumns(condition: Predicate<Column>): readonly Column[] {
  switch (condition.kind) {
    case "all":
      return [];
    case "and":
    case "or":
      return condition.of.flatMap(conditionColumns);
    default:
      return [condition.column];
  }
}

/** Tells of each row whether it may meet the condition. */
export function rowFilter(condition: Predicate<Column>): RowFilter {
  switch (condition.kind) {
    case "all":
      return () => true;
    case "and": {
      const all = condition.of.map(rowFilter);
      return (row) => all.every((one) => one(row));
    }
    case "or": {
      const any = condition.of.map(rowFilter);
      return (row) => any.some((one) => one(row));
    }
    default: {
      const { column } = condition;
      const mayMeet = leafFilter(condition);
      return (row) => {
        const value = row(column);
        return value === undefined || value !== null && mayMeet(value);
      };
    }
  }
}

/** False for a text only where it is false for each part of it. Asked about ASCII alone. */
export type TextFilter = (text: string) => boolean;

/**
 * Tells of a column's text whether its row may meet the condition. A text may be made of many
 * values, of which it then tells at once that none does. Undefined: nothing can be told.
 */
export function textFilter(
  condition: Predicate<Column>,
  column: Column,
): TextFilter | undefined {
  switch (condition.kind) {
    case "and":
      return every(condition.of.flatMap((one) => textFilter(one, column) ?? []));
    case "or": {
      const any = condition.of.flatMap((one) => textFilter(one, column) ?? []);
      return any.length < condition.of.length ? undefined : (text) => any.some((one) => one(text));
    }
    case "substring":
    case "terms":
    case "attribute":
      return condition.column.id === column.id ? leafTextFilter(condition) : undefined;
    default:
      return undefined;
  }
}

function leafTextFilter(
  leaf: Extract<Leaf<Column>, { readonly kind: "substring" | "terms" | "attribute" }>,
): TextFilter | undefined {
  switch (leaf.kind) {
    case "substring":
      return leaf.ignoreCase ? asciiPattern(leaf.text) : (text) => text.includes(leaf.text);
    case "terms": {
      if (leaf.isStemmed === true || BEYOND_ASCII.test(leaf.text)) return undefined;
      const patterns = tokenize(leaf.text).flatMap((word) => asciiPattern(word) ?? []);
      return leaf.mode === "any" && patterns.length > 0
        ? (text) => patterns.some((one) => one(text))
        : every(patterns);
    }
    case "attribute":
      return leafFilter(leaf);
  }
}

function every(all: readonly TextFilter[]): TextFilter | undefined {
  return all.length === 0 ? undefined : (text) => all.every((one) => one(text));
}

/** Letters of any case, which an expression finds ten times as fast as what is folded first. */
function asciiPattern(part: string): TextFilter | undefined {
  if (BEYOND_ASCII.test(part)) return undefined;
  const pattern = new RegExp(RegExp.escape(part), "i");
  return (text) => pattern.test(text);
}

type ValueFilter = (value: Exclude<StoredValue, null>) => boolean;

function leafFilter(leaf: Leaf<Column>): ValueFilter {
  switch (leaf.kind) {
    case "compare":
      return compareFilter(leaf);
    case "starts":
      return ofText((value) => value.startsWith(leaf.text));
    case "substring":
      return leaf.ignoreCase
        ? partsFilter(leaf.text, [leaf.text.toLowerCase()], "all")
        : ofText((value) => value.includes(leaf.text));
    case "terms": {
      // A stem is no part of each of its words.
      if (leaf.isStemmed === true) return () => true;
      return partsFilter(leaf.text, tokenize(leaf.text), leaf.mode === "any" ? "any" : "all");
    }
    case "attribute":
      return attributeFilter(leaf.values);
    case "member":
      return () => true;
  }
}

function ofText(mayMeet: (value: string) => boolean): ValueFilter {
  return (value) => typeof value !== "string" || mayMeet(value);
}

/** A letter beyond ASCII: looked for from one to the next, which `^[…]*$` is not. */
const BEYOND_ASCII = /[\u0080-\uffff]/;

/**
 * `parts` of `text` must be in a value. Letters beyond ASCII are in lower case what DuckDB makes of
 * them, so nothing is said where one stands on either side.
 */
function partsFilter(text: string, parts: readonly string[], mode: "all" | "any"): ValueFilter {
  if (parts.length === 0 || BEYOND_ASCII.test(text)) return () => true;
  return ofText((value) => {
    if (BEYOND_ASCII.test(value)) return true;
    const folded = value.toLowerCase();
    const isIn = (part: string) => folded.includes(part);
    return mode === "all" ? parts.every(isIn) : parts.some(isIn);
  });
}

function compareFilter({ column: { type }, operator, values }: CompareLeaf<Column>): ValueFilter {
  if (type === "string" || type === "bool") {
    return operator === "=" ? (value) => values.some((one) => one === value) : () => true;
  }
  if (type !== "long" && type !== "int") return () => true;
  const integers = values.map((value) => BigInt(value as bigint));
  return (value) => {
    if (typeof value !== "bigint" && typeof value !== "number") return true;
    const own = BigInt(value);
    return integers.some((one) => {
      switch (operator) {
        case "=":
          return own === one;
        case "<":
          return own < one;
        case "<=":
          return own <= one;
        case ">":
          return own > one;
        case ">=":
          return own >= one;
      }
    });
  };
}

/** Values that stand in an object just as they are told. */
const INTEGER = /^(0|-?[1-9][0-9]{0,17})$/;
const WORD = /^[A-Za-z_][^"\\\p{Cc}]*$/u;
/** Some parsers read these as numbers, in any case. */
const NUMBER_WORD = /^(nan|inf)/i;
const LETTERS_AND_DIGITS = /^[0-9A-Za-z_]{8,}$/;

/**
 * An object in which a value stands has its text, unless a part of the object is escaped. Digits
 * are another matter where they could be a number's that is written in another way.
 */
function attributeFilter(values: readonly string[]): ValueFilter {
  const areTexts = values.every((value) =>
    !BEYOND_ASCII.test(value) && (INTEGER.test(value) || isName(value))
  );
  if (!areTexts) return () => true;
  return ofText((text) => text.includes("\\") || values.some((value) => text.includes(value)));
}

/** Whether only a string, true or false is shown so. */
function isName(value: string): boolean {
  if (WORD.test(value)) return !NUMBER_WORD.test(value);
  return LETTERS_AND_DIGITS.test(value) && /[A-DF-Za-df-z_]/.test(value);
}
