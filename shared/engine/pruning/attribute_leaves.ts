/**
 * What a predicate says of the rows of one data file, where it names attributes or promoted
 * columns.
 *
 * A promoted column that is complete in the file has bounds, which attributes have not. Where it is
 * not complete, bounds and indexes of the column say nothing of rows that have the value in their
 * attributes alone.
 */

import { memoizeIn } from "../../base/memoize.ts";
import { ATTRIBUTES } from "../../schema/promoted.ts";
import type { Column, ColumnType } from "../../schema/schema.ts";
import type { DataFile } from "../../iceberg/types.ts";
import { sourcesOf } from "../plan/made_columns.ts";
import type { TablePlan } from "../plan/plan.ts";
import {
  ALL,
  allOf,
  anyOf,
  type CompareLeaf,
  type ConstantValue,
  type Leaf,
  type Predicate,
} from "./predicate.ts";

/** The table's files, and which promoted columns are complete in them. */
export type AttributeFiles = Pick<TablePlan, "schema" | "stored" | "made" | "isComplete" | "files">;

/** What is asked of the indexes of a file: of attributes, and of columns that say all. */
export function indexPredicate(
  predicate: Predicate<Column>,
  table: AttributeFiles,
  file: DataFile,
): Predicate<Column> {
  if (table.made.size === 0) return predicate;
  return mapped(
    predicate,
    (leaf) => indexLeaf(leaf, table, (column) => table.isComplete(file, column)),
  );
}

/** What the bounds of a file's columns may rule out. */
export function boundsPredicate(
  predicate: Predicate<Column>,
  table: AttributeFiles,
  file: DataFile,
): Predicate<Column> {
  return boundsOver(predicate, table, (column) => table.isComplete(file, column));
}

/** What bounds may rule out in each of the table's files. */
export function commonBoundsPredicate(
  predicate: Predicate<Column>,
  table: AttributeFiles,
): Predicate<Column> {
  const isComplete = memoizeIn(
    new Map<Column, boolean>(),
    (column) => table.files.every((file) => table.isComplete(file, column)),
  );
  return boundsOver(predicate, table, isComplete);
}

function boundsOver(
  predicate: Predicate<Column>,
  table: AttributeFiles,
  isComplete: (column: Column) => boolean,
): Predicate<Column> {
  if (table.stored.promoted === undefined) return predicate;
  return mapped(predicate, (leaf) => {
    if (leaf.kind === "attribute") {
      const own = memberBounds({ ...leaf, as: "text", operator: "=" }, table, isComplete);
      return allOf([leaf, own]);
    }
    if (leaf.kind === "member") return memberBounds(leaf, table, isComplete);
    return isSure(leaf.column, table, isComplete) ? leaf : ALL;
  });
}

/** A leaf over a promoted column of which rows may lack the value becomes one over attributes. */
function indexLeaf(
  leaf: Leaf<Column>,
  table: AttributeFiles,
  isComplete: (column: Column) => boolean,
): Predicate<Column> {
  if (leaf.kind === "attribute" || leaf.kind === "member") return leaf;
  if (isSure(leaf.column, table, isComplete)) return leaf;
  const attributes = table.schema.columns.find(({ name }) => name === ATTRIBUTES);
  if (leaf.kind !== "compare" || leaf.operator !== "=" || attributes === undefined) return ALL;
  const values = leaf.values.filter((value) => typeof value === "string");
  // Texts of other types may be written in several ways.
  if (leaf.column.type !== "string" || values.length < leaf.values.length) return ALL;
  return { kind: "attribute", column: attributes, name: leaf.column.name, values };
}

function isSure(
  column: Column,
  { made }: AttributeFiles,
  isComplete: (column: Column) => boolean,
): boolean {
  return !made.has(column.name) || isComplete(column);
}

/** An attribute's comparison as one of a complete column that compares in the same way. */
function memberBounds(
  { name, as, operator, values }: {
    readonly name: string;
    readonly as: "text" | "double" | "integer";
    readonly operator: CompareLeaf["operator"];
    readonly values: readonly ConstantValue[];
  },
  { stored }: AttributeFiles,
  isComplete: (column: Column) => boolean,
): Predicate<Column> {
  const complete = sourcesOf(stored, name).filter(isComplete);
  const column = complete.find(({ type }) => COMPARABLE[as].includes(type));
  if (column === undefined) return ALL;
  const isWhole = column.type === "long" || column.type === "int";
  const fits = !isWhole || values.every((value) => typeof value === "bigint" && isKept(value, as));
  return fits ? { kind: "compare", column, operator, values } : ALL;
}

/** Columns whose values compare as the attribute does: a cast to an integer rounds a double. */
const COMPARABLE: Readonly<Record<"text" | "double" | "integer", readonly ColumnType[]>> = {
  text: ["string"],
  double: ["long", "int", "double"],
  integer: ["long", "int"],
};

/** Integers from there on equal others once they are doubles. */
const DOUBLE_INTEGERS_MAX = 2n ** 53n;

function isKept(value: bigint, as: "text" | "double" | "integer"): boolean {
  return as !== "double" || (value > -DOUBLE_INTEGERS_MAX && value < DOUBLE_INTEGERS_MAX);
}

function mapped(
  predicate: Predicate<Column>,
  leafOf: (leaf: Leaf<Column>) => Predicate<Column>,
): Predicate<Column> {
  switch (predicate.kind) {
    case "all":
      return ALL;
    case "and":
      return allOf(predicate.of.map((one) => mapped(one, leafOf)));
    case "or":
      return anyOf(predicate.of.map((one) => mapped(one, leafOf)));
    default:
      return leafOf(predicate);
  }
}
