/** `/api/v1/tables`: README.md of this folder says what they answer. */

import { formatMicros, formatNanos, MS_PER_DAY } from "../../shared/base/time.ts";
import { totalRows } from "../../shared/base/total_rows.ts";
import { jsonResponse } from "../../shared/http/error_response.ts";
import type { Snapshot } from "../../shared/iceberg/table_metadata.ts";
import type { DataFile } from "../../shared/iceberg/types.ts";
import { attributeOf, isUnasked } from "../../shared/schema/promoted.ts";
import type { Addressed } from "../indexes/index_routes.ts";
import type { QueryCaller } from "../query_caller.ts";
import { type ListedTable, type TableDetails, type TableFacts, valuesIn } from "./table_facts.ts";

/** What these routes need of the server. */
export interface TableService {
  readonly tables: TableFacts;
}

/** Days and snapshots that an answer has: the newest. */
const DAYS_MAX = 1_000;
const SNAPSHOTS_MAX = 100;

/** `GET /api/v1/tables`: 200 with the tenant's tables, by name. */
export async function listTables(
  _: Request,
  { tables }: TableService,
  caller: QueryCaller,
): Promise<Response> {
  return jsonResponse((await tables.list(caller)).map(listedBody));
}

/** `GET /api/v1/tables/{name}`: 200 with the table. Errors: `not_found`. */
export async function getTable(
  _: Request,
  { tables }: TableService,
  { caller, id }: Addressed,
): Promise<Response> {
  return jsonResponse(detailsBody(await tables.details(caller, id)));
}

function listedBody(table: ListedTable): Readonly<Record<string, unknown>> {
  const { name, kind, retentionSecs, rows, bytes, files, snapshots, committedMs } = table;
  return {
    ...{ table: name, kind },
    rows: rows ?? null,
    bytes: bytes ?? null,
    files: files ?? null,
    snapshots,
    ...(retentionSecs === undefined ? {} : { retention_secs: retentionSecs }),
    ...(committedMs === undefined ? {} : { committed_at: momentText(committedMs) }),
  };
}

function detailsBody({ listed, schema, table, files }: TableDetails) {
  const days = Map.groupBy(files, ({ day }) => day);
  const newest = [...days].sort(([a], [b]) => b - a);
  const bound = (of: readonly (bigint | undefined)[], isLess: (a: bigint, b: bigint) => boolean) =>
    of.reduce(
      (best, ns) => ns !== undefined && (best === undefined || isLess(ns, best)) ? ns : best,
      undefined,
    );
  const oldestNs = bound(files.map(({ timestampNsMin }) => timestampNsMin), (a, b) => a < b);
  const newestNs = bound(files.map(({ timestampNsMax }) => timestampNsMax), (a, b) => a > b);
  const snapshots = (table?.metadata.snapshots ?? []).toSorted((a, b) =>
    b["timestamp-ms"] - a["timestamp-ms"]
  );
  return {
    ...listedBody(listed),
    ...sumsOf(files),
    ...(oldestNs === undefined ? {} : { oldest_row_at: formatNanos(oldestNs) }),
    ...(newestNs === undefined ? {} : { newest_row_at: formatNanos(newestNs) }),
    columns: schema.columns.map((column) => ({
      name: column.name,
      type: column.type,
      required: column.required,
      ...(column.doc === undefined ? {} : { doc: column.doc }),
      ...(schema.promoted?.includes(column.name)
        ? { attribute: attributeOf(column.name), hidden: isUnasked(column.name) }
        : {}),
      values: valuesIn(files, column),
    })),
    day_count: days.size,
    days: newest.slice(0, DAYS_MAX).map(([day, own]) => ({
      day: new Date(day * MS_PER_DAY).toISOString().slice(0, 10),
      ...sumsOf(own),
    })),
    snapshot_list: snapshots.slice(0, SNAPSHOTS_MAX).map(snapshotBody),
  };
}

function sumsOf(files: readonly DataFile[]) {
  return {
    rows: totalRows(files),
    bytes: files.reduce((sum, { byteLength }) => sum + byteLength, 0),
    files: files.length,
  };
}

function snapshotBody({ summary = {}, ...snapshot }: Snapshot) {
  const count = (member: string) => {
    const text = summary[member];
    return text === undefined ? 0 : Number(text);
  };
  return {
    snapshot_id: String(snapshot["snapshot-id"]),
    committed_at: momentText(snapshot["timestamp-ms"]),
    operation: summary["operation"] ?? "unknown",
    rows_added: count("added-records"),
    rows_removed: count("deleted-records"),
    files_added: count("added-data-files"),
    files_removed: count("deleted-data-files"),
  };
}

function momentText(ms: number): string {
  return formatMicros(BigInt(ms) * 1_000n);
}
