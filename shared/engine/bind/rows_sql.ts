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

/** Rows of a part, and what is added to their numbers to make places of them. */
export interface PartRows {
  readonly read: ReadRows;
  readonly firstPlace: number;
}

/** A SELECT of `columns`, by their names, of all these rows. `place`: another column of it. */
export function readRowsSql(
  parts: readonly PartRows[],
  { columns, place }: { readonly columns: readonly Column[]; readonly place: string | undefined },
  bind: BindText,
): string {
  const listed: readonly ListedValues[] = [
    ...columns.map(({ id, name, type }) => ({
      ...{ name, type },
      values: parts.flatMap(({ read }) => read.values.get(id) ?? []),
    })),
    ...place === undefined ? [] : [{
      ...{ name: place, type: "long" as const },
      values: parts.flatMap(({ read, firstPlace }) =>
        Array.from(read.numbers, (row) => firstPlace + row)
      ),
    }],
  ];
  if (listed.length === 0) {
    return `SELECT i FROM range(${
      parts.reduce((sum, { read }) => sum + read.numbers.length, 0)
    }) AS r(i)`;
  }
  const lists = listed.map(({ type, values }, at) =>
    `unnest(from_json(${bind(jsonOf(values))}, '["${WRITTEN[type].json}"]')) AS l${at}`
  );
  const own = listed.map(({ name, type }, at) =>
    `${WRITTEN[type].own(`l${at}`)} AS ${quoteName(name)}`
  );
  return `SELECT ${own.join(", ")} FROM (SELECT ${lists.join(", ")})`;
}

interface ListedValues extends Pick<Column, "name" | "type"> {
  readonly values: readonly StoredValue[];
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
