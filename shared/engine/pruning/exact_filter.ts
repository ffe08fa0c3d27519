/**
 * Filters that are told exactly by values of columns: a WHERE that says of some columns which
 * values they have, and of `timestamp` between which times it lies. Whether a row meets it needs no
 * DuckDB.
 */

import { conjuncts, timeBoundColumns } from "../bounds/time_bounds.ts";
import type { Column } from "../../schema/schema.ts";
import { sourcesOf } from "../plan/made_columns.ts";
import type { DataFile } from "../../iceberg/types.ts";
import type { TableReference } from "../gate/gate.ts";
import type { TablePlan } from "../plan/plan.ts";
import { nodeAt, textAt, type TreeNode } from "../statement/syntax_tree.ts";
import { WRITTEN_OUT } from "./constants.ts";
import { type ConstantValue, type Leaf, overColumns } from "./predicate.ts";
import { PredicateReader } from "./predicate_reader.ts";

/** A row meets the filter where it meets all of these, and lies in the plan's range of times. */
export type ExactFilter = readonly Leaf[];

/**
 * The filter of a SELECT over one table as it was sent. Undefined: it has another condition, or one
 * that is not known to be told exactly.
 */
export function exactFilter(
  root: TreeNode,
  [reference, ...others]: readonly TableReference[],
): ExactFilter | undefined {
  const where = nodeAt(root, "where_clause");
  const table = reference?.node;
  if (where === undefined || table === undefined || others.length > 0) return undefined;
  if (nodeAt(root, "from_table") !== table || nodeAt(root, "sample") !== undefined) {
    return undefined;
  }
  const reader = new PredicateReader({ reference: table, alone: true }, WRITTEN_OUT);
  const leaves: Leaf[] = [];
  for (const conjunct of conjuncts(where)) {
    const bounded = timeBoundColumns(conjunct, table);
    if (bounded !== undefined) {
      // A row is known by its microsecond.
      if (bounded.includes("timestamp_ns")) return undefined;
      continue;
    }
    const leaf = EQUAL.has(textAt(conjunct, "type")) ? reader.whenTrue(conjunct) : undefined;
    if (leaf === undefined || !isEqualText(leaf)) return undefined;
    leaves.push(leaf);
  }
  return leaves;
}

const EQUAL: ReadonlySet<string> = new Set(["COMPARE_EQUAL", "COMPARE_IN"]);

function isEqualText(leaf: ReturnType<PredicateReader["whenTrue"]>): leaf is Leaf {
  if (leaf.kind === "attribute") return true;
  return leaf.kind === "compare" && leaf.operator === "=" &&
    leaf.values.every((value) => typeof value === "string");
}

/** Columns of which a row has one of some texts each. */
export type EqualTexts = readonly {
  readonly column: Column;
  readonly texts: ReadonlySet<string>;
}[];

/** The filter over the columns that a data file has; undefined: they do not tell it. */
export function filterOfFile(
  filter: ExactFilter,
  table: TablePlan,
  file: DataFile,
): EqualTexts | undefined {
  const all = filter.map((leaf) => equalTexts(leaf, table, file));
  return all.every((one) => one !== undefined) ? all : undefined;
}

function equalTexts(
  leaf: Leaf,
  table: TablePlan,
  file: DataFile,
): EqualTexts[number] | undefined {
  const own = overColumns(leaf, table);
  if (own.kind === "attribute") {
    const column = sourcesOf(table.stored, own.name)
      .find((source) => source.type === "string" && table.isComplete(file, source));
    return column && { column, texts: textsAmong(own.values) };
  }
  if (own.kind !== "compare" || own.column.type !== "string") return undefined;
  const { column, values } = own;
  return table.made.has(column.name) && !table.isComplete(file, column)
    ? undefined
    : { column, texts: textsAmong(values) };
}

function textsAmong(values: readonly ConstantValue[]): ReadonlySet<string> {
  return new Set(values.filter((value) => typeof value === "string"));
}
