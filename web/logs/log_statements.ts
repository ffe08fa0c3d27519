/** The statements of the page Logs. Whatever was typed comes in through `searchCondition` alone. */

import { quoteName } from "../../shared/engine/duckdb/statement_text.ts";
import { instantSql } from "../../shared/search/instant_sql.ts";
import { type Instants } from "./time_range.ts";

/** A search in SQL. */
export interface LogQuery {
  readonly table: string;
  /** The condition of the search. */
  readonly condition: string;
  readonly instants: Instants;
}

/** The place of a row in the order newest first. */
export interface RowPlace {
  /** The text of the answer. */
  readonly timestamp: string;
  /** Unix nanoseconds as text: too many digits for a number. */
  readonly timestampNs: string;
}

/** The newest rows; those older than `before` where it is given. */
export function rowsSql(
  { table, condition, instants }: LogQuery,
  { before, rowsMax }: { readonly before?: RowPlace | undefined; readonly rowsMax: number },
): string {
  const older = before === undefined
    ? ""
    : ` AND timestamp <= ${instantSql(before.timestamp)} AND timestamp_ns < ${before.timestampNs}`;
  return `SELECT CAST(timestamp_ns AS VARCHAR) AS "timestamp_ns text", * FROM ${
    quoteName(table)
  } ` +
    `WHERE ${within(instants)}${older} AND (${condition}) ` +
    `ORDER BY timestamp DESC, timestamp_ns DESC LIMIT ${rowsMax}`;
}

/** Rows by bin and level: `bin` in Unix milliseconds, `level` as the rows have it. */
export function histogramSql(
  { table, condition, instants }: LogQuery,
  { binMs, level }: { readonly binMs: number; readonly level: string },
): string {
  return `SELECT epoch_ms(date_bin(INTERVAL '${binMs / 1_000} seconds', timestamp)) AS bin, ` +
    `${level} AS level, count(*) AS n FROM ${quoteName(table)} ` +
    `WHERE ${within(instants)} AND (${condition}) GROUP BY ALL`;
}

/** Rows whose patterns are counted: all rows of a large table would take many seconds. */
export const PATTERN_ROWS = 100_000;

/** The most frequent shapes of the newest rows, each with an example. */
export function patternsSql(
  { table, condition, instants }: LogQuery,
  { text, patternsMax }: { readonly text: string; readonly patternsMax: number },
): string {
  const newest = `SELECT ${quoteName(text)} AS text FROM ${quoteName(table)} ` +
    `WHERE ${within(instants)} AND (${condition}) ORDER BY timestamp DESC LIMIT ${PATTERN_ROWS}`;
  return `SELECT log_pattern(text) AS pattern, count(*) AS n, any_value(text) AS example ` +
    `FROM (${newest}) GROUP BY ALL ORDER BY n DESC LIMIT ${patternsMax}`;
}

function within({ from, to }: Instants): string {
  const iso = (ms: number) => instantSql(new Date(ms).toISOString());
  return `timestamp >= ${iso(from)} AND timestamp < ${iso(to)}`;
}
