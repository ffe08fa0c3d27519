/** Turns a record into a row of `query_audit`. */

import type { RowObject } from "../../shared/columns/rows.ts";
import type { QueryRecord } from "../query_record.ts";

/** The columns of docs/api/tables.md#query_audit for one record. */
export function auditRow(record: QueryRecord): RowObject {
  const { caller, cost } = record;
  const arrivedMs = BigInt(Math.floor(record.startedMs));
  return {
    timestamp: arrivedMs * 1_000n,
    timestamp_ns: arrivedMs * 1_000_000n,
    subject: caller.subject ?? null,
    email: caller.email ?? null,
    tenant: caller.tenant,
    endpoint: record.endpoint,
    query: record.query,
    format: record.format ?? null,
    priority: record.priority,
    // The value is rounded to the microsecond: beyond it is the noise of a floating-point clock.
    duration_ms: Math.round(record.durationMs * 1_000) / 1_000,
    status: record.status,
    complexity: cost?.complexity_class ?? null,
    estimated_bytes_scanned: wholeOrNull(cost?.estimated_bytes_scanned),
    estimated_rows_processed: wholeOrNull(cost?.estimated_rows_processed),
    rows_returned: wholeOrNull(record.rowsReturned),
    truncated: record.truncated ? 1 : 0,
    error: record.error ?? null,
    application_name: record.application ?? null,
  };
}

function wholeOrNull(value: number | undefined): bigint | null {
  return value === undefined ? null : BigInt(Math.round(value));
}
