/** Reads the rows of a subquery as values that can be written into a statement. */

import { textOf } from "../../base/bytes.ts";
import type { PreparedQuery, RunningQuery } from "../types.ts";
import type { FoundSubquery } from "./find_subqueries.ts";

/** A column of what a subquery gave. */
export interface FoundColumn {
  readonly name: string;
  /** DuckDB's name of its type. */
  readonly type: string;
  /** Texts that a cast to the type reads. */
  readonly values: readonly (string | null)[];
}

/** Rows that are read of a subquery at most. With more of them it is run within the statement. */
export const FOUND_ROWS_MAX = 10_000;
/** Characters of all values. A statement has 256 Ki of them at most, with quotes and commas. */
const LENGTH_MAX = 131_072;
const VALUES_MAX = 8_192;

/** Types whose values are read back as they were, and what JSON has for them. */
const TYPES: ReadonlyMap<string, "text" | "time" | "digits"> = new Map([
  ["VARCHAR", "text"],
  ["TIMESTAMP WITH TIME ZONE", "time"],
  ["TIMESTAMP", "time"],
  ["DATE", "time"],
  ["BIGINT", "digits"],
  ["INTEGER", "digits"],
]);

/** Whether the values of a subquery can be written into a statement, if they are few. */
export function areWritable(
  { columns }: Pick<PreparedQuery, "columns">,
  place: FoundSubquery["place"],
): boolean {
  const types = columns.map(({ type }) => type);
  if (place === "list" || place === "joined") return types.every((type) => type === "VARCHAR");
  const names = new Set(columns.map(({ name }) => name.toLowerCase()));
  return names.size === columns.length && types.every((type) => TYPES.has(type));
}

/**
 * Reads all rows of writable columns. Undefined: there are too many, or one cannot be written.
 * Errors: those of the run.
 */
export async function foundColumns(
  running: RunningQuery,
  place: FoundSubquery["place"],
): Promise<readonly FoundColumn[] | undefined> {
  const rows: (string | null)[][] = [];
  for await (const chunk of running.chunks("arrays")) {
    if (rows.length + chunk.rowCount > FOUND_ROWS_MAX) return undefined;
    rows.push(...rowsOf(textOf(chunk.bytes())));
  }
  // More than one row for a value is an error, which the statement itself tells.
  if (place === "value" && rows.length > 1) return undefined;
  const columns = running.columns.map(({ name, type }, at) => {
    const values = rows.map((row) => row[at] ?? null);
    return { name, type, values: place === "rows" ? values : [...new Set(values)] };
  });
  // One of the times of an edge is written.
  const isWritten = place === "edge" || isShort(columns);
  return isWritten && columns.every(isExact) ? columns : undefined;
}

interface JsonWithSource {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
}

/** `text`: `["a",1],["b",null],`. Digits stay as they are written. */
function rowsOf(text: string): (string | null)[][] {
  const parsed = (JSON as JsonWithSource).parse(
    `[${text.slice(0, -1)}]`,
    (_, value, { source }) => typeof value === "number" ? source : value,
  );
  return parsed as (string | null)[][];
}

function isShort(columns: readonly FoundColumn[]): boolean {
  const values = columns.flatMap((column) => column.values);
  return values.length <= VALUES_MAX &&
    values.reduce((sum, value) => sum + (value?.length ?? 0), 0) <= LENGTH_MAX;
}

/** Times of other years are written in ways that a cast does not read. */
function isExact({ type, values }: FoundColumn): boolean {
  const isTime = TYPES.get(type) === "time";
  return values.every((value) =>
    value === null || (isTime ? /^\d{4}-/.test(value) : !value.includes("\0"))
  );
}
