/**
 * The sample that answers where no summary does: the newest rows of a search. It is bounded twice,
 * by its rows and by what it takes to find them. A search that has no index to help it would read
 * the whole range, so the sample then looks at the newest part of the range alone.
 */

import { NS_PER_US, parseRfc3339Ns } from "../../shared/base/time.ts";
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
/** The part of a range that is tried next, and how often. */
const PART = 8n;
const PARTS_MAX = 5;

/** Errors: those of a statement of `/sql`. */
export async function newestSample(call: PartCall, request: SampleRequest): Promise<Sample> {
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

/** The newest part of the range in which the search is cheap. */
async function cheapRange(call: PartCall, request: SampleRequest): Promise<TimeRange> {
  // Indexes are asked before a statement for all rows is priced; for the newest, when it runs.
  const isCheap = async (range: TimeRange) =>
    await call.price(rowsSql(request, range)) <= PRICE_SECS_MAX;
  if (await isCheap(request.range)) return request.range;
  const times = await call.rows(
    `SELECT min(timestamp), max(timestamp) FROM ${quoteName(request.table)}` +
      whereSql(request.range),
    { rowsMax: 1 },
  );
  const [oldestNs, newestNs] = (times.rows[0] ?? []).map((time) => parseRfc3339Ns(String(time)));
  if (oldestNs === undefined || newestNs === undefined) return request.range;
  let spanNs = newestNs - oldestNs + NS_PER_US;
  let part = request.range;
  for (let tries = 0; tries < PARTS_MAX; tries += 1) {
    spanNs = spanNs / PART + 1n;
    part = { ...request.range, minNs: newestNs - spanNs };
    if (await isCheap(part)) return part;
  }
  return part;
}
