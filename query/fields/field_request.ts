/** Parameters of the routes of fields as precise values. */

import { OperatingError } from "../../shared/base/errors.ts";
import {
  formatMicros,
  NS_PER_US,
  parseRfc3339Ns,
  TIMESTAMP_NS_MAX,
} from "../../shared/base/time.ts";
import type { TimeRange } from "../../shared/iceberg/types.ts";
import { EVENTS_TABLE } from "../../shared/schema/events.ts";
import { instantSql } from "../../shared/search/instant_sql.ts";
import { parseSearch } from "../../shared/search/parse_search.ts";
import type { SearchNode } from "../../shared/search/search_syntax.ts";
import { badParameter, countOf, given, refuseNul } from "../tracing/query_parameters.ts";

/** Which rows a request is about. */
export interface SearchedRows {
  readonly table: string;
  /** `from` inclusive, `to` exclusive. */
  readonly range: TimeRange;
  readonly search: SearchNode;
}

/** Most frequent values of one field. */
export interface ValuesRequest extends SearchedRows {
  readonly name: string;
  readonly limit: number;
  /** Only values that begin so; empty: all. */
  readonly prefix: string;
}

const LIMIT_DEFAULT = 10;
const LIMIT_MAX = 100;
const TABLE_LENGTH_MAX = 200;

/** Errors: `invalid_argument` (`bad_parameter`, `search_syntax`). */
export function searchedRows(params: URLSearchParams): SearchedRows {
  for (const [name, value] of params) refuseNul({ name, value });
  const table = params.get("table") || EVENTS_TABLE;
  if (table.length > TABLE_LENGTH_MAX) {
    throw badParameter({ name: "table", value: table }, "no table has so long a name");
  }
  const minNs = instantOf(params, "from");
  const endNs = instantOf(params, "to");
  if (minNs !== undefined && endNs !== undefined && endNs <= minNs) {
    throw new OperatingError(
      "invalid_argument",
      `Cannot look from ${params.get("from")} to ${params.get("to")}: to must be later than from`,
      { reason: "bad_parameter" },
    );
  }
  const range = { minNs, maxNs: endNs === undefined ? undefined : endNs - 1n };
  return { table, range, search: parseSearch(params.get("search") ?? "") };
}

/** Errors: those of `searchedRows`. */
export function valuesRequest(name: string, params: URLSearchParams): ValuesRequest {
  refuseNul({ name: "field", value: name });
  const limit = countOf(params, "limit") ?? LIMIT_DEFAULT;
  if (limit > LIMIT_MAX) {
    throw badParameter({ name: "limit", value: String(limit) }, `it is at most ${LIMIT_MAX}`);
  }
  return { ...searchedRows(params), name, limit, prefix: params.get("prefix") ?? "" };
}

/** Errors: `invalid_argument`. */
function instantOf(params: URLSearchParams, name: string): bigint | undefined {
  const found = given(params, name);
  if (found === undefined) return undefined;
  const ns = /^\d{1,19}$/.test(found.value) ? BigInt(found.value) : parseRfc3339Ns(found.value);
  if (ns === undefined || ns > TIMESTAMP_NS_MAX) {
    throw badParameter(
      found,
      "it is an instant such as 2026-11-20T21:04:05Z, or Unix nanoseconds up to the year 2262",
    );
  }
  return ns;
}

/**
 * The WHERE of rows in a range that meet a condition; empty for all rows. A condition that always
 * holds is left out, so that the statement is known as one for the newest rows.
 */
export function whereSql({ minNs, maxNs }: TimeRange, condition = "TRUE"): string {
  const endNs = maxNs === undefined ? undefined : maxNs + 1n;
  const all = [
    ...(minNs === undefined ? [] : [boundSql(">=", minNs)]),
    ...(endNs === undefined ? [] : [boundSql("<", endNs)]),
    ...(condition === "TRUE" ? [] : [`(${condition})`]),
  ];
  return all.length === 0 ? "" : ` WHERE ${all.join(" AND ")}`;
}

/** A whole microsecond is a bound of `timestamp`. */
function boundSql(operator: ">=" | "<", ns: bigint): string {
  return ns % NS_PER_US === 0n
    ? `timestamp ${operator} ${instantSql(formatMicros(ns / NS_PER_US))}`
    : `timestamp_ns ${operator} ${ns}`;
}
