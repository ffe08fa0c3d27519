/**
 * Reads what `EdgeTimes` keeps: the `timestamp` of a window of a data file's rows, by DuckDB.
 */

import { present } from "../../base/assert.ts";
import type { DataFiles } from "../files/data_files.ts";
import type { EngineConnection, TextChunk } from "../duckdb/driver.ts";
import { fileTable } from "../plan/plan.ts";
import { relationSql } from "../bind/relation.ts";
import { quoteName } from "../duckdb/statement_text.ts";
import { type TimeWindow, WINDOW_US, type WindowTimes } from "./edge_times.ts";
import { partsWithin } from "./own_rows.ts";

/** Rows of a window that are kept, which take 4 MiB. A window with more rows is not kept. */
const ROWS_MAX = 1_048_576;
/** Added to each offset, so that all have equally many digits. */
const DIGITS_BASE = 1_000_000_000n;
const DIGITS = String(DIGITS_BASE).length;
const ZERO = 48;

/** What reads a window. */
export interface EdgeReading {
  readonly data: DataFiles;
  /** Runs background work. */
  readonly behind: (
    work: (connection: EngineConnection) => Promise<WindowTimes>,
    signal: AbortSignal,
  ) => Promise<WindowTimes>;
}

/** Reads a window. Errors: the file's and DuckDB's; the reason of `signal`. */
export async function readEdgeTimes(
  { file, column, firstUs }: TimeWindow,
  { data, behind }: EdgeReading,
  signal: AbortSignal,
): Promise<WindowTimes> {
  using lease = data.lease(signal);
  const endUs = firstUs + WINDOW_US;
  const range = { minNs: firstUs * 1_000n, maxNs: endUs * 1_000n - 1n };
  const parts = await partsWithin(file, [range], lease);
  const { tables } = await lease.bring({ tables: [fileTable(file, [column], parts)] });
  const name = quoteName(column.name);
  const sql = `SELECT (${DIGITS_BASE} + epoch_us(${name}) - ${firstUs})::VARCHAR ` +
    `FROM (${relationSql(present(tables[0]))}) ` +
    `WHERE ${name} >= make_timestamptz(${firstUs}) AND ${name} < make_timestamptz(${endUs}) ` +
    `LIMIT ${ROWS_MAX + 1}`;
  return await behind((connection) => timesOf(connection.rows({ sql })), signal);
}

async function timesOf(chunks: AsyncIterable<TextChunk>): Promise<WindowTimes> {
  const read: Uint32Array[] = [];
  let rows = 0;
  for await (const chunk of chunks) {
    rows += chunk.rowCount;
    if (rows > ROWS_MAX) return undefined;
    read.push(offsetsOf(chunk.bytes()));
  }
  const times = new Uint32Array(rows);
  let at = 0;
  for (const offsets of read) {
    times.set(offsets, at);
    at += offsets.length;
  }
  return times.sort();
}

/** Offsets from texts of `DIGITS` digits each. The first digit is the base's. */
function offsetsOf(digits: Uint8Array): Uint32Array {
  const offsets = new Uint32Array(digits.length / DIGITS);
  for (let row = 0; row < offsets.length; row += 1) {
    let offset = 0;
    for (let at = row * DIGITS + 1; at < (row + 1) * DIGITS; at += 1) {
      offset = 10 * offset + (digits[at] as number) - ZERO;
    }
    offsets[row] = offset;
  }
  return offsets;
}
