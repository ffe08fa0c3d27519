/** The statements of the page Logs. Whatever was typed comes in through `searchCondition` alone. */

import { quoteName, quoteText } from "../../shared/engine/duckdb/statement_text.ts";
import { instantSql } from "../../shared/search/instant_sql.ts";
import { NS_TEXT, type RowPlace } from "./log_rows.ts";
import type { Instants } from "./time_range.ts";

/** A search in SQL. */
export interface LogQuery {
  readonly table: string;
  /** The condition of the search. */
  readonly condition: string;
  readonly instants: Instants;
}

const NEWEST_FIRST = "ORDER BY timestamp DESC, timestamp_ns DESC";
const OLDEST_FIRST = "ORDER BY timestamp, timestamp_ns";

/** The newest rows; with `from` the rows from that place on, its own instant included. */
export function rowsSql(
  { table, condition, instants }: LogQuery,
  { from, rowsMax }: { readonly from?: RowPlace | undefined; readonly rowsMax: number },
): string {
  const older = from === undefined ? "" : ` AND ${notAfter(from)}`;
  return `${rowsFrom(table)} WHERE ${within(instants)}${older} AND (${condition}) ` +
    `${NEWEST_FIRST} LIMIT ${rowsMax}`;
}

/** The statement of a download: the table's own columns, the newest rows first. */
export function downloadSql({ table, condition, instants }: LogQuery): string {
  return `SELECT * FROM ${quoteName(table)} WHERE ${within(instants)} AND (${condition}) ` +
    NEWEST_FIRST;
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
/** A shape is that of the beginning of a text: the server makes few bytes of values at once. */
const PATTERN_CHARS = 1_000;

/**
 * The most frequent shapes of the newest rows: shape, rows, an example, and two lists: bins, and
 * the rows of each. A bin is counted from the first instant.
 */
export function patternsSql(
  { table, condition, instants }: LogQuery,
  { text, patternsMax, binMs }: {
    readonly text: string;
    readonly patternsMax: number;
    readonly binMs: number;
  },
): string {
  const newest = `SELECT ${beginningOf(text)} AS text, timestamp FROM ${quoteName(table)} ` +
    `WHERE ${within(instants)} AND (${condition}) ORDER BY timestamp DESC LIMIT ${PATTERN_ROWS}`;
  const counted = `SELECT log_pattern(text) AS pattern, ` +
    `CAST(floor((epoch_ms(timestamp) - ${instants.from}) / ${binMs}) AS INTEGER) AS bin, ` +
    `count(*) AS n, min(text) AS example FROM (${newest}) GROUP BY ALL`;
  return `SELECT pattern, CAST(sum(n) AS BIGINT) AS total, min(example) AS example, ` +
    `list(bin) AS bins, list(n) AS counts FROM (${counted}) ` +
    `GROUP BY pattern ORDER BY total DESC, pattern LIMIT ${patternsMax}`;
}

/** Which of these shapes the newest rows before an instant have, and how many rows there are. */
export function knownPatternsSql(
  { table, condition, instants }: LogQuery,
  { text, patterns }: { readonly text: string; readonly patterns: readonly string[] },
): string {
  const newest = `SELECT ${beginningOf(text)} AS text FROM ${quoteName(table)} ` +
    `WHERE ${within(instants)} AND (${condition}) ORDER BY timestamp DESC LIMIT ${PATTERN_ROWS}`;
  const wanted = patterns.map(quoteText).join(", ");
  return `SELECT log_pattern(text) AS pattern, count(*) AS n FROM (${newest}) ` +
    `GROUP BY pattern HAVING pattern IN (${wanted}) OR pattern IS NULL ` +
    `UNION ALL SELECT NULL, count(*) FROM (SELECT 1 FROM (${newest}) LIMIT 1)`;
}

/** Rows of one host and source beside a place: its own instant is among the older. */
export function contextSql(
  { table, place, same, side, spanMs, rowsMax }: {
    readonly table: string;
    readonly place: RowPlace;
    /** Columns and the values that they have in all rows. */
    readonly same: readonly (readonly [column: string, value: string])[];
    readonly side: "older" | "newer";
    readonly spanMs: number;
    readonly rowsMax: number;
  },
): string {
  const at = Date.parse(place.timestamp);
  const instants = side === "older"
    ? { from: at - spanMs, to: at + 1 }
    : { from: at, to: at + spanMs };
  const conditions = [
    within(instants),
    side === "older" ? notAfter(place) : `timestamp_ns > ${integer(place.timestampNs)}`,
    ...same.map(([column, value]) => `${quoteName(column)} = ${quoteText(value)}`),
  ];
  return `${rowsFrom(table)} WHERE ${conditions.join(" AND ")} ` +
    `${side === "older" ? NEWEST_FIRST : OLDEST_FIRST} LIMIT ${rowsMax}`;
}

/** The newest row before a range, or the oldest behind it: its instant in Unix milliseconds. */
export function nearestSql(
  { table, condition, instants: { from, to } }: LogQuery,
  side: "older" | "newer",
): string {
  const iso = (ms: number) => instantSql(new Date(ms).toISOString());
  const beside = side === "older" ? `timestamp < ${iso(from)}` : `timestamp >= ${iso(to)}`;
  return `SELECT epoch_ms(timestamp) FROM ${quoteName(table)} WHERE ${beside} AND (${condition}) ` +
    `ORDER BY timestamp${side === "older" ? " DESC" : ""} LIMIT 1`;
}

/** Whether a table has a row at all. */
export function anyRowSql(table: string): string {
  return `SELECT 1 FROM ${quoteName(table)} LIMIT 1`;
}

function beginningOf(text: string): string {
  return `left(${quoteName(text)}, ${PATTERN_CHARS})`;
}

function rowsFrom(table: string): string {
  return `SELECT CAST(timestamp_ns AS VARCHAR) AS ${quoteName(NS_TEXT)}, * FROM ${
    quoteName(table)
  }`;
}

/** The first bound rules out files, the second is exact. */
function notAfter({ timestamp, timestampNs }: RowPlace): string {
  return `timestamp <= ${instantSql(timestamp)} AND timestamp_ns <= ${integer(timestampNs)}`;
}

/** A place may come from the address: nothing but digits goes into a statement. */
function integer(text: string): string {
  return String(BigInt(text));
}

function within({ from, to }: Instants): string {
  const iso = (ms: number) => instantSql(new Date(ms).toISOString());
  return `timestamp >= ${iso(from)} AND timestamp < ${iso(to)}`;
}
