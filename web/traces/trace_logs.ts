/** The log rows of a trace: those whose attribute `trace_id` is its id. */

import { askSql } from "../api/sql_client.ts";
import { levelValue } from "../../shared/search/search_condition.ts";
import { parseSearch } from "../../shared/search/parse_search.ts";
import { searchCondition } from "../../shared/search/search_condition.ts";
import { describedColumns, describingSql } from "../../shared/search/described_table.ts";
import { instantSql } from "../../shared/search/instant_sql.ts";
import { fieldTerm } from "../logs/field_term.ts";

/** The table that is asked. */
const LOGS_TABLE = "events";
const LOGS_MAX = 1_000;
/** Logs of a trace are looked for so long before its start and after its end. */
export const AROUND_MS = 60_000;

export interface TraceLog {
  /** Nanoseconds since the trace's start. */
  readonly ns: number;
  readonly spanId: string;
  readonly level: string;
  readonly source: string;
  readonly text: string;
}

/** The search of the page Logs for a trace's rows. */
export function logSearch(traceId: string): string {
  return fieldTerm("trace_id", traceId);
}

/** The rows, the oldest first, 1,000 at most. Errors: `RequestError`; the signal's reason. */
export async function traceLogs(
  traceId: string,
  { startNs, endNs, signal }: {
    /** Unix nanoseconds. */
    readonly startNs: bigint;
    readonly endNs: bigint;
    readonly signal: AbortSignal;
  },
): Promise<readonly TraceLog[]> {
  const columns = describedColumns(
    await askSql(describingSql(LOGS_TABLE), { signal, rowsMax: 1 }),
  );
  const table = { columns, texts: ["raw"] };
  const [from, to] = [startNs, endNs].map((ns) => Number(ns / 1_000_000n));
  const iso = (ms: number) => instantSql(new Date(ms).toISOString());
  const sql = `SELECT CAST(timestamp_ns AS VARCHAR), attr_get(attributes, 'span_id') AS span_id, ` +
    `${levelValue(table)} AS level, source, raw FROM ${LOGS_TABLE} ` +
    `WHERE timestamp >= ${iso((from ?? 0) - AROUND_MS)} ` +
    `AND timestamp < ${iso((to ?? 0) + AROUND_MS)} ` +
    `AND (${searchCondition(parseSearch(logSearch(traceId)), table)}) ` +
    `ORDER BY timestamp, timestamp_ns LIMIT ${LOGS_MAX}`;
  const { rows } = await askSql(sql, { signal, rowsMax: LOGS_MAX });
  return rows.map(([ns, spanId, level, source, text]) => ({
    ns: Number(BigInt(String(ns)) - startNs),
    spanId: String(spanId ?? ""),
    level: String(level ?? ""),
    source: String(source ?? ""),
    text: String(text ?? ""),
  }));
}
