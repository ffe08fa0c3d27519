/** Rows that were read of data files (`files/few_rows/`), as SQL: their values are bound. */

import type { StoredValue } from "../../parquet/reader/chunk_rows.ts";
import type { Column, ColumnType } from "../../schema/schema.ts";
import { type BindText, quoteName } from "../duckdb/statement_text.ts";
import type { ReadRows } from "../plan/plan.ts";

/** How a column's values are written as JSON, and what makes its own type of them. */
interface WrittenType {
  readonly json: string;
  readonly own: (value: string) => string;
}

const itself = (value: string) => value;
const WRITTEN: Readonly<Record<ColumnType, WrittenType>> = {
  string: { json: "VARCHAR", own: itself },
  long: { json: "BIGINT", own: itself },
  int: { json: "INTEGER", own: itself },
  bool: { json: "BOOLEAN", own: itself },
  timestamptz: { json: "BIGINT", own: (micros) => `make_timestamptz(${micros})` },
  // JSON has no -0, no NaN and no infinities of its own.
  double: { json: "VARCHAR", own: (text) => `${text}::DOUBLE` },
};

/** A SELECT of `columns`, by their names, of all these rows. */
export function readRowsSql(
  parts: readonly ReadRows[],
  columns: readonly Column[],
  bind: BindText,
): string {
  if (columns.length === 0) {
    return `SELECT i FROM range(${parts.reduce((sum, { rows }) => sum + rows, 0)}) AS r(i)`;
  }
  const lists = columns.map(({ id, type }, at) => {
    const values = parts.flatMap((part) => part.values.get(id) ?? []);
    return `unnest(from_json(${bind(jsonOf(values))}, '["${WRITTEN[type].json}"]')) AS l${at}`;
  });
  const own = columns.map(({ name, type }, at) =>
    `${WRITTEN[type].own(`l${at}`)} AS ${quoteName(name)}`
  );
  return `SELECT ${own.join(", ")} FROM (SELECT ${lists.join(", ")})`;
}

function jsonOf(values: readonly StoredValue[]): string {
  return `[${values.map(jsonOfValue).join(",")}]`;
}

function jsonOfValue(value: StoredValue): string {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "number" || Number.isInteger(value) && !Object.is(value, -0)) {
    return JSON.stringify(value);
  }
  return Object.is(value, -0) ? '"-0"' : `"${value}"`;
}
