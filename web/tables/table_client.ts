/** Tables, configurations and delete tasks: query/tables, query/indexes and query/delete_tasks. */

import { refusal, request, requestJson } from "../api/request.ts";
import { askSql } from "../api/sql_client.ts";
import { quoteName } from "../../shared/engine/duckdb/statement_text.ts";
import { instantSql } from "../../shared/search/instant_sql.ts";
import type { IndexConfig } from "../../shared/schema/doc_mapping.ts";
import type { IndexTemplate } from "../../shared/schema/index_template.ts";

export interface ListedTable {
  readonly table: string;
  readonly kind: "built_in" | "index" | "unconfigured";
  readonly rows: number | null;
  readonly bytes: number | null;
  readonly files: number | null;
  readonly snapshots: number;
  readonly retention_secs?: number;
  readonly committed_at?: string;
}

export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly doc?: string;
  readonly attribute?: string;
  readonly hidden?: boolean;
  /** Rows that have a value. */
  readonly values: number;
}

export interface TableDay {
  readonly day: string;
  readonly rows: number;
  readonly bytes: number;
  readonly files: number;
}

export interface TableSnapshot {
  readonly snapshot_id: string;
  readonly committed_at: string;
  readonly operation: string;
  readonly rows_added: number;
  readonly rows_removed: number;
  readonly files_added: number;
  readonly files_removed: number;
}

export interface TableDetails extends ListedTable {
  readonly oldest_row_at?: string;
  readonly newest_row_at?: string;
  readonly columns: readonly TableColumn[];
  readonly day_count: number;
  readonly days: readonly TableDay[];
  readonly snapshot_list: readonly TableSnapshot[];
}

export interface DeleteTask {
  readonly task_id: string;
  readonly index_id: string;
  readonly predicate_sql: string;
  readonly start_ts: string | null;
  readonly end_ts: string | null;
  readonly status: "pending" | "running" | "done" | "failed";
  readonly created_at: string;
  readonly ended_at?: string;
  readonly rows_deleted: number;
  readonly files_rewritten: number;
  readonly error?: string;
  readonly claim?: { readonly present: boolean };
  readonly progress?: {
    readonly files_total: number;
    readonly files_done: number;
    readonly rows_matched: number;
  };
}

/** Rows to delete: times are RFC 3339 or empty, `from` inclusive, `to` exclusive. */
export interface DeleteWish {
  readonly table: string;
  readonly predicate: string;
  readonly from: string;
  readonly to: string;
}

/** Something with the tag that a change of it names. */
export interface Tagged<T> {
  readonly value: T;
  readonly etag: string;
}

type Signal = { readonly signal: AbortSignal };

export const listTables = async ({ signal }: Signal) =>
  await requestJson("tables", { signal }) as readonly ListedTable[];

export const fetchTable = async (name: string, { signal }: Signal) =>
  await requestJson(`tables/${encodeURIComponent(name)}`, { signal }) as TableDetails;

export const listTemplates = async ({ signal }: Signal) =>
  await requestJson("index-templates", { signal }) as readonly IndexTemplate[];

export const listDeleteTasks = async ({ signal }: Signal) =>
  await requestJson("delete-tasks", { signal }) as readonly DeleteTask[];

export const fetchIndex = (name: string, { signal }: Signal) =>
  fetchTagged<IndexConfig>(`indexes/${encodeURIComponent(name)}`, signal);

export const fetchTemplate = (id: string, { signal }: Signal) =>
  fetchTagged<IndexTemplate>(`index-templates/${encodeURIComponent(id)}`, signal);

async function fetchTagged<T>(path: string, signal: AbortSignal): Promise<Tagged<T>> {
  const response = await request(path, { signal });
  const text = await response.text();
  if (!response.ok) throw refusal(text, response.status);
  return { value: JSON.parse(text), etag: response.headers.get("etag") ?? "*" };
}

/** Makes an index, or changes the one that had `etag`. Errors: `RequestError` by the status. */
export async function saveIndex(
  config: IndexConfig,
  { etag, signal }: Signal & { readonly etag: string | undefined },
): Promise<void> {
  if (etag === undefined) await send("indexes", { method: "POST", body: config, signal });
  else {
    const path = `indexes/${encodeURIComponent(config.index_id)}`;
    await send(path, { method: "PUT", body: config, signal, etag });
  }
}

/** Makes a template, or changes the one that had `etag`. Errors: as `saveIndex`. */
export async function saveTemplate(
  template: IndexTemplate,
  { etag, signal }: Signal & { readonly etag: string | undefined },
): Promise<void> {
  const path = `index-templates/${encodeURIComponent(template.template_id)}`;
  await send(path, { method: "PUT", body: template, signal, ...(etag ? { etag } : {}) });
}

export async function removeIndex(name: string, { signal }: Signal): Promise<void> {
  await send(`indexes/${encodeURIComponent(name)}`, { method: "DELETE", signal });
}

export async function removeTemplate(id: string, { signal }: Signal): Promise<void> {
  await send(`index-templates/${encodeURIComponent(id)}`, { method: "DELETE", signal });
}

/** Submits a delete task. Errors: as `saveIndex`. */
export async function submitDelete(
  { table, predicate, from, to }: DeleteWish,
  { signal }: Signal,
): Promise<void> {
  const body = {
    ...{ index_id: table, predicate_sql: predicate },
    ...(from === "" ? {} : { start_ts: from }),
    ...(to === "" ? {} : { end_ts: to }),
  };
  await send("delete-tasks", { method: "POST", body, signal });
}

/** Rows that a delete would take, of all rows of its time. Errors: as `saveIndex`. */
export async function countRows(
  { table, predicate, from, to }: DeleteWish,
  { signal }: Signal,
): Promise<{ readonly found: number; readonly all: number }> {
  const within = [
    ...from === "" ? [] : [`timestamp >= ${instantSql(from)}`],
    ...to === "" ? [] : [`timestamp < ${instantSql(to)}`],
  ];
  const where = within.length === 0 ? "" : ` WHERE ${within.join(" AND ")}`;
  // The predicate stands on lines of its own: a comment at its end stays one.
  const sql = `SELECT count(*) FILTER (WHERE (\n${predicate}\n)) AS found, count(*) AS every ` +
    `FROM ${quoteName(table)}${where}`;
  const { rows: [[found, all] = []] } = await askSql(sql, { signal, rowsMax: 1 });
  return { found: Number(found), all: Number(all) };
}

async function send(
  path: string,
  { method, body, etag, signal }: Signal & {
    readonly method: "POST" | "PUT" | "DELETE";
    readonly body?: unknown;
    readonly etag?: string;
  },
): Promise<void> {
  const response = await request(path, {
    method,
    signal,
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(etag === undefined ? {} : { "if-match": etag }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw refusal(text, response.status);
}
