/**
 * A question to DuckDB before a newest-first (or oldest-first) statement with a filter runs. How
 * many of the wanted rows do some parts of its table hold, and how far back do they reach?
 */

import { nodeAt, nodesAt, textAt, type TreeNode } from "../statement/syntax_tree.ts";
import type { DataFile } from "../../iceberg/types.ts";
import { placeOf, type ScanPart } from "../plan/plan.ts";
import type { Relation } from "../duckdb/driver.ts";
import type { OrderedRequest } from "../order/nearest_units.ts";
import { statementText } from "../duckdb/statement_text.ts";
import { columnNode } from "../statement/tree_nodes.ts";

/** Numbers of rows, from 0, by their file. */
export type RowsByFile = ReadonlyMap<DataFile, readonly number[]>;

/** The first of the wanted rows that some parts hold. */
export interface RowsFound {
  /** At most as many as are wanted. */
  readonly rows: number;
  /** Time of the last of them, in Unix microseconds; undefined without one. */
  readonly reaches: bigint | undefined;
  /** By file, the numbers of all rows that are not beyond it; undefined: they are not known. */
  readonly numbers: RowsByFile | undefined;
}

export interface ProbedRows extends RowsFound {
  /** What it cost: rows that DuckDB would have scanned in that time. */
  readonly looked: number;
}

/** `SELECT <the column it is ordered by> FROM … WHERE …` of an ordered statement. */
export function probedRoot(root: TreeNode): TreeNode {
  const order = nodesAt(root, "modifiers").find((one) => textAt(one, "type") === "ORDER_MODIFIER");
  const [first] = nodesAt(order ?? {}, "orders");
  return { ...root, select_list: [nodeAt(first ?? {}, "expression")], modifiers: [] };
}

/** The whole document, with that statement instead of `root`; `place`: another column of it. */
export function probedDocument(document: TreeNode, root: TreeNode, place?: string): TreeNode {
  const [statement] = nodesAt(document, "statements");
  const probed = probedRoot(root);
  const selected = nodesAt(probed, "select_list");
  const node = place === undefined
    ? probed
    : { ...probed, select_list: [...selected, columnNode(place)] };
  return { ...document, statements: [{ ...statement, node }] };
}

/** So many rows may have the time of the last that is wanted. */
export const TIES_MAX = 64;

/**
 * `sql`: text of such a document with places. A row for each that is wanted, and for some behind
 * them: its time and its place.
 */
export function placedRowsSql(
  sql: string,
  { relations, wanted }: {
    readonly relations: readonly Relation[];
    readonly wanted: OrderedRequest;
  },
): string {
  const direction = wanted.direction === "newest" ? "DESC" : "ASC";
  return statementText(sql, {
    relations,
    wrap: (from) =>
      `SELECT epoch_us(t)::VARCHAR, p::VARCHAR FROM ${from} AS probed(t, p) ` +
      `ORDER BY t ${direction} LIMIT ${wanted.rows + TIES_MAX}`,
  }).sql;
}

/** `parts`: of the plan that has the places. */
export function placedRowsOf(
  found: readonly (readonly (string | null)[])[],
  { wanted, parts }: { readonly wanted: number; readonly parts: readonly ScanPart[] },
): RowsFound {
  const rows = found.slice(0, wanted);
  const reaches = rows.at(-1)?.[0] ?? undefined;
  const last = found.at(-1)?.[0];
  // An infinite time is not told.
  const areTold = found.every(([time]) => time !== null);
  const isAll = areTold && (found.length < wanted + TIES_MAX || last !== reaches);
  const places = found.filter(([time], at) => at < wanted || time === reaches)
    .map(([, place]) => Number(place));
  return {
    rows: rows.length,
    reaches: reaches === undefined ? undefined : BigInt(reaches),
    numbers: isAll ? numbersOf(places, parts) : undefined,
  };
}

function numbersOf(places: readonly number[], parts: readonly ScanPart[]): RowsByFile | undefined {
  const numbers = new Map<DataFile, number[]>();
  for (const place of places) {
    const { part: at, row } = placeOf(place);
    const part = parts[at];
    if (part?.origin !== "file") return undefined;
    const own = numbers.get(part.file) ?? [];
    numbers.set(part.file, own);
    own.push(row);
  }
  return numbers;
}

/** `sql`: text of such a document. One row: how many, and the time of the last. */
export function probedRowsSql(
  sql: string,
  { relations, wanted }: {
    readonly relations: readonly Relation[];
    readonly wanted: OrderedRequest;
  },
): string {
  const [last, direction] = wanted.direction === "newest" ? ["min", "DESC"] : ["max", "ASC"];
  return statementText(sql, {
    relations,
    wrap: (from) =>
      `SELECT count(*)::VARCHAR, epoch_us(${last}(t))::VARCHAR ` +
      `FROM (SELECT t FROM ${from} AS probed(t) ORDER BY t ${direction} LIMIT ${wanted.rows})`,
  }).sql;
}

export function probedRowsOf([row]: readonly (readonly (string | null)[])[]): RowsFound {
  const [rows, reaches] = row ?? [];
  return {
    rows: Number(rows ?? 0),
    reaches: reaches === null || reaches === undefined ? undefined : BigInt(reaches),
    numbers: undefined,
  };
}
