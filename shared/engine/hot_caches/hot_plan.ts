/**
 * A call of `last_values` or `distinct_values` as a planned table: its rows in a file of the cache
 * directory.
 */

import { isOperatingError, OperatingError } from "../../base/errors.ts";
import { batchOfRows, type RowObject } from "../../columns/rows.ts";
import { BUILT_IN_TABLES } from "../../schema/built_in_tables.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import type { TableSchema } from "../../schema/schema.ts";
import type { IndexState } from "../../catalog/index_catalog.ts";
import type { FileSystem } from "../../os/file_system.ts";
import { writeParquet } from "../../parquet/write_parquet.ts";
import { type DeltaFile, placeDeltaFile } from "../plan/delta_file.ts";
import type { TablePlan } from "../plan/plan.ts";
import { projectedColumns } from "../plan/projection.ts";
import { rowsPlan } from "../plan/rows_plan.ts";
import { type HotCall, hotTableName } from "./hot_call.ts";
import type { HotCaches } from "./hot_caches.ts";

const NS_PER_US = 1_000n;

/** The caches, and where their answers are written. */
export interface HotSource {
  readonly caches: HotCaches;
  readonly files: Pick<FileSystem, "create" | "remove">;
  /** Directory of the files of answers; emptied at start. */
  readonly dir: string;
}

/** Who calls, and which columns the statement mentions. */
export interface HotPlanRequest {
  readonly namespace: string;
  readonly tenant: string;
  /** Column names that the statement mentions; undefined is all. */
  readonly named: ReadonlySet<string> | undefined;
  readonly signal: AbortSignal;
}

/** A call as a table of the plan. */
export interface PlannedHotCall {
  readonly plan: TablePlan;
  /** Disposing it removes the file. */
  readonly lease: Disposable;
}

/**
 * Plans a call. Errors: `invalid_argument` (`hot_caches_off`, `unknown_dimension`); those of the
 * caches.
 */
export async function planHotCall(
  source: HotSource | undefined,
  call: HotCall,
  { request, state }: { readonly request: HotPlanRequest; readonly state: IndexState | undefined },
): Promise<PlannedHotCall> {
  if (source === undefined) {
    throw new OperatingError(
      "invalid_argument",
      `Cannot call ${call.kind}: this server keeps no hot caches; start it with ` +
        "--query-hot-caches and --query-wal-buffer-dir, or ask the table itself",
      { reason: "hot_caches_off" },
    );
  }
  const { schema, rows } = await answerOf(source.caches, call, { request, state });
  const file = rows.length === 0 ? undefined : await writeRows(source, schema, rows);
  const name = hotTableName(call);
  const plan: TablePlan = {
    ...rowsPlan({
      name,
      ident: { namespace: request.namespace, name: call.table },
      schema,
      delta: file === undefined ? [] : [file],
      projected: projectedColumns(schema, request.named),
    }),
    lost: source.caches.lostOf({
      lane: { tenant: request.tenant, index: call.table },
      epoch: state?.epoch ?? 0,
    }),
  };
  const remove = () => {
    if (file !== undefined) source.files.remove(file.path).catch(() => {}); // Emptied at the next start.
  };
  return { plan, lease: { [Symbol.dispose]: remove } };
}

interface Answer {
  readonly schema: TableSchema;
  readonly rows: readonly RowObject[];
}

async function answerOf(
  caches: HotCaches,
  call: HotCall,
  { request, state }: { readonly request: HotPlanRequest; readonly state: IndexState | undefined },
): Promise<Answer> {
  const tags = tagsOf(call.table, state);
  const question = {
    lane: { tenant: request.tenant, index: call.table },
    tags,
    epoch: state?.epoch ?? 0,
    signal: request.signal,
  };
  if (call.kind === "last_values") {
    const { columns, rows } = await caches.lastValues(question);
    const builtIn = BUILT_IN_TABLES.get(call.table) ?? EVENTS_SCHEMA;
    return { schema: columns === undefined ? builtIn : { columns, tags }, rows };
  }
  if (!tags.includes(call.dim)) {
    throw new OperatingError(
      "invalid_argument",
      `Cannot tell distinct values of ${JSON.stringify(call.dim)} in ${call.table}: ` +
        `its tags are ${tags.join(", ")}`,
      { reason: "unknown_dimension" },
    );
  }
  const counts = await caches.distinctValues(question, call.dim);
  const rows = [...counts].map(([value, { rows, lastNs }]) => ({
    value,
    rows: BigInt(rows),
    timestamp: lastNs / NS_PER_US,
    timestamp_ns: lastNs,
  }));
  return { schema: DISTINCT_SCHEMA, rows };
}

/** `timestamp` is the time of the value's newest row. */
const DISTINCT_SCHEMA: TableSchema = {
  columns: [
    { id: 1, name: "value", type: "string", required: true },
    { id: 2, name: "rows", type: "long", required: true },
    { id: 3, name: "timestamp", type: "timestamptz", required: true },
    { id: 4, name: "timestamp_ns", type: "long", required: true },
  ],
  tags: [],
};

/**
 * The tags of a table. A table that nobody configured has the tags of `events`, whose columns every
 * such table has.
 */
function tagsOf(table: string, state: IndexState | undefined): readonly string[] {
  const configured = state?.index?.config.doc_mapping;
  const known = BUILT_IN_TABLES.get(table)?.tags ?? EVENTS_SCHEMA.tags;
  if (configured === undefined) return known;
  const texts = configured.field_mappings.filter(({ type }) => type === "text")
    .map(({ name }) => name.toLowerCase());
  const tags = configured.tag_fields.map((name) => name.toLowerCase());
  return [...new Set([...known, ...tags.filter((name) => texts.includes(name))])];
}

let filesMade = 0;
/** A call is never bounded by the times of its rows. */
const NO_TIMES = { timestampNsMin: 0n, timestampNsMax: 0n };

async function writeRows(
  { files, dir }: HotSource,
  schema: TableSchema,
  rows: readonly RowObject[],
): Promise<DeltaFile> {
  const written = writeParquet([batchOfRows(schema, rows)], { schema, effort: "none" });
  filesMade += 1;
  const path = `${dir}/hot-${filesMade}.parquet`;
  try {
    return await placeDeltaFile(files, path, { file: written, times: [NO_TIMES] });
  } catch (cause) {
    if (isOperatingError(cause)) throw cause;
    throw new OperatingError(
      "unavailable",
      "Cannot answer from the hot caches: the query server's cache directory cannot be written; free space there",
      { reason: "cache_not_writable", retryAfterSecs: 5, cause },
    );
  }
}
