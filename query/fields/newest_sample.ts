/**
 * The sample that answers where no summary does: the newest rows of a search. It is bounded twice,
 * by its rows and by what it takes to find them. A search that has no index to help it would read
 * the whole range, so the sample then looks at the newest part of the range alone.
 */

import { parseRfc3339Ns } from "../../shared/base/time.ts";
import { totalRows } from "../../shared/base/total_rows.ts";
import { quoteName } from "../../shared/engine/duckdb/statement_text.ts";
import type { TimeRange } from "../../shared/iceberg/types.ts";
import { whereSql } from "./field_request.ts";
import type { PartCall } from "./part_call.ts";

/** What is to be sampled. */
export interface SampleRequest {
  readonly table: string;
  readonly range: TimeRange;
  /** The condition of the search. */
  readonly condition: string;
  /** The select list. */
  readonly list: string;
  readonly rowsMax: number;
}

/** The newest rows, and whether there are no others in the range. */
export interface Sample {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  readonly isWhole: boolean;
}

/** A statement that is priced at more is asked of a part of the range. */
const PRICE_SECS_MAX = 0.15;
/** The part of the rows that is tried next, and how often. */
const PART = 8;
const PARTS_MAX = 5;
const BINS = 500n;
const NS_PER_MINUTE = 60_000_000_000n;

/** What a sample asks with. */
type Statements = Pick<PartCall, "price" | "rows">;

/** Errors: those of a statement of `/sql`. */
export async function newestSample(call: Statements, request: SampleRequest): Promise<Sample> {
  const { rowsMax } = request;
  const range = request.condition === "TRUE" ? request.range : await cheapRange(call, request);
  const { columns, rows } = await call.rows(sampleSql(request, range), { rowsMax: rowsMax + 1 });
  return {
    columns,
    rows: rows.slice(0, rowsMax),
    isWhole: rows.length <= rowsMax && range === request.range,
  };
}

function sampleSql(request: SampleRequest, range: TimeRange): string {
  return `${rowsSql(request, range)} ORDER BY timestamp DESC LIMIT ${request.rowsMax + 1}`;
}

function rowsSql({ table, condition, list }: SampleRequest, range: TimeRange): string {
  return `SELECT ${list} FROM ${quoteName(table)}${whereSql(range, condition)}`;
}

/** The newest part of the range, by rows, in which the search is cheap. */
async function cheapRange(call: Statements, request: SampleRequest): Promise<TimeRange> {
  // Indexes are asked before a statement for all rows is priced; for the newest, when it runs.
  const isCheap = async (range: TimeRange) =>
    await call.price(rowsSql(request, range)) <= PRICE_SECS_MAX;
  if (await isCheap(request.range)) return request.range;
  const bins = await binsOf(call, request);
  let rows = totalRows(bins);
  let part = request.range;
  for (let tries = 0; tries < PARTS_MAX; tries += 1) {
    rows /= PART;
    part = newestPart(request.range, bins, rows);
    if (await isCheap(part)) break;
  }
  return part;
}

/** A span of time, and how many rows of the table are in it. */
interface Bin {
  readonly startNs: bigint;
  readonly rows: number;
}

/** Rows over time, the newest first; summaries count them. */
async function binsOf(call: Statements, { table, range }: SampleRequest): Promise<readonly Bin[]> {
  const from = `FROM ${quoteName(table)}${whereSql(range)}`;
  const ends = await call.rows(`SELECT min(timestamp), max(timestamp) ${from}`, { rowsMax: 1 });
  const [oldestNs, newestNs] = (ends.rows[0] ?? []).map((time) => parseRfc3339Ns(String(time)));
  if (oldestNs === undefined || newestNs === undefined) return [];
  const minutes = (newestNs - oldestNs) / (NS_PER_MINUTE * BINS) + 1n;
  const bins = await call.rows(
    `SELECT time_bucket(INTERVAL '${minutes} minutes', timestamp) AS bin, count(*) ${from} ` +
      "GROUP BY bin ORDER BY bin DESC",
    { rowsMax: 2 * Number(BINS) },
  );
  return bins.rows.flatMap(([start, rows]) => {
    const startNs = parseRfc3339Ns(String(start));
    return startNs === undefined ? [] : [{ startNs, rows: Number(rows) }];
  });
}

/** The part of the range that has about so many of the newest rows. */
function newestPart(range: TimeRange, bins: readonly Bin[], rows: number): TimeRange {
  let left = rows;
  for (const bin of bins) {
    left -= bin.rows;
    const isInside = range.minNs === undefined || bin.startNs > range.minNs;
    if (left <= 0) return isInside ? { ...range, minNs: bin.startNs } : range;
  }
  return range;
}
