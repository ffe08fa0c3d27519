/**
 * A question to DuckDB before a newest-first (or oldest-first) statement with a filter runs. How
 * many of the wanted rows do some parts of its table hold, and how far back do they reach?
 */

import { nodeAt, nodesAt, textAt, type TreeNode } from "../statement/syntax_tree.ts";
import type { Relation } from "../duckdb/driver.ts";
import type { OrderedRequest } from "../order/nearest_units.ts";
import { statementText } from "../duckdb/statement_text.ts";

export interface ProbedRows {
  /** At most as many as are wanted. */
  readonly rows: number;
  /** Time of the last of them, in Unix microseconds; undefined without one. */
  readonly reaches: bigint | undefined;
}

/** `SELECT <the column it is ordered by> FROM … WHERE …` of an ordered statement. */
export function probedRoot(root: TreeNode): TreeNode {
  const order = nodesAt(root, "modifiers").find((one) => textAt(one, "type") === "ORDER_MODIFIER");
  const [first] = nodesAt(order ?? {}, "orders");
  return { ...root, select_list: [nodeAt(first ?? {}, "expression")], modifiers: [] };
}

/** The whole document, with that statement instead of `root`. */
export function probedDocument(document: TreeNode, root: TreeNode): TreeNode {
  const [statement] = nodesAt(document, "statements");
  return { ...document, statements: [{ ...statement, node: probedRoot(root) }] };
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

export function probedRowsOf([row]: readonly (readonly (string | null)[])[]): ProbedRows {
  const [rows, reaches] = row ?? [];
  return {
    rows: Number(rows ?? 0),
    reaches: reaches === null || reaches === undefined ? undefined : BigInt(reaches),
  };
}
