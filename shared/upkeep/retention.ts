/**
 * Retention: data files all of whose rows are older than an index keeps them leave the table, whole
 * and in one commit. `planRetention` is pure; `applyRetention` commits. The files themselves go
 * when the snapshots that have them expire.
 *
 * A file that reaches past the horizon stays whole by default. So rows outlive their period by what
 * one file covers: a day at most, since files are of one day. An index with `exact` has such files
 * written anew without the rows that are past it, as soon as the oldest is overdue by
 * `overdueNsMax`. So a file is written a bounded number of times, however slowly its rows get old.
 */

import { viewOf } from "../base/bytes.ts";
import { NS_PER_MS, NS_PER_SEC } from "../base/time.ts";
import { columnData } from "../columns/timestamps.ts";
import { withSidecars } from "../derived/sidecar.ts";
import type { Retention } from "../schema/doc_mapping.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { type CommitDeps, readerOf } from "../iceberg/commit_table.ts";
import type { LoadedTable } from "../iceberg/iceberg_reader.ts";
import { removeQuietly } from "../iceberg/staging.ts";
import type { DataFile } from "../iceberg/types.ts";
import { commitOrDiscard } from "../tables/commit_or_discard.ts";
import type { DataFileWriterDeps } from "../tables/data_file_writer.ts";
import type { GoneRows } from "../tables/foreign_deletes.ts";
import { type FileRest, restOfFile } from "./delete_rows.ts";
import { textOfTable } from "../tables/text_of_table.ts";

export interface RetentionDeps extends CommitDeps, DataFileWriterDeps {}

export interface RetentionChoice {
  /** Whose rows are all past their period: oldest first. */
  readonly files: readonly DataFile[];
  /** Some of whose rows are, and which are to be written anew without them: oldest first. */
  readonly cut: readonly DataFile[];
  /** Whether more is to be cut than one commit takes. */
  readonly more: boolean;
}

export interface RetentionPlan extends RetentionChoice {
  readonly table: LoadedTable;
  /** Rows before it have outlived their period: Unix nanoseconds. */
  readonly horizonNs: bigint;
}

export interface RetentionReport {
  readonly outcome: "dropped" | "superseded" | "nothing";
  /** That left the table whole. */
  readonly files: number;
  /** That were written anew. */
  readonly cut: number;
  /** That left the table with either. */
  readonly rows: number;
  readonly bytes: number;
}

/**
 * Files that one commit cuts at most, and their bytes: what is read and written while the sweep has
 * its turn.
 */
const CUT_FILES_MAX = 16;
const CUT_BYTES_MAX = 128 * 1024 * 1024;
/** Exact retention lets rows be overdue by this share of the period, within these bounds. */
const OVERDUE_SHARE = 24n;
const OVERDUE_NS_MIN = 60n * NS_PER_SEC;
const OVERDUE_NS_MAX = 3_600n * NS_PER_SEC;

/**
 * How long rows may outlive their period in an index with exact retention, but for the time to the
 * next sweep.
 */
export function overdueNsMax(periodSecs: number): bigint {
  const share = BigInt(periodSecs) * NS_PER_SEC / OVERDUE_SHARE;
  return share < OVERDUE_NS_MIN ? OVERDUE_NS_MIN : share > OVERDUE_NS_MAX ? OVERDUE_NS_MAX : share;
}

/**
 * `cutNs`: files with an older row are cut; undefined: none is. A file without bounds stays as it
 * is.
 */
export function planRetention(
  files: readonly DataFile[],
  { horizonNs, cutNs }: { readonly horizonNs: bigint; readonly cutNs?: bigint | undefined },
): RetentionChoice {
  const isPast = ({ timestampNsMax }: DataFile) =>
    timestampNsMax !== undefined && timestampNsMax < horizonNs;
  const straddling = files.filter((file) =>
    cutNs !== undefined && file.timestampNsMin !== undefined && file.timestampNsMin < cutNs &&
    file.timestampNsMax !== undefined && !isPast(file)
  );
  const cut: DataFile[] = [];
  let bytes = 0;
  for (const file of straddling) {
    bytes += file.byteLength;
    if (cut.length > 0 && (cut.length === CUT_FILES_MAX || bytes > CUT_BYTES_MAX)) break;
    cut.push(file);
  }
  return { files: files.filter(isPast), cut, more: cut.length < straddling.length };
}

/** How long the index of a table keeps its rows; undefined: for ever. Errors: the catalog's. */
export async function retentionOf(
  { catalog }: Pick<CommitDeps, "catalog">,
  ident: TableIdent,
): Promise<Retention | undefined> {
  const { index } = await catalog.indexState(ident);
  return index?.config.retention;
}

/**
 * What a period takes out of a table; undefined when there is no such table. Errors: those of
 * reading it.
 */
export async function lookForRetention(
  given: CommitDeps,
  ident: TableIdent,
  { period_secs: periodSecs, exact = false }: Retention,
): Promise<RetentionPlan | undefined> {
  const deps = { ...given, reader: readerOf(given) };
  const location = await deps.catalog.metadataLocation(ident);
  if (location === undefined) return undefined;
  const table = await deps.reader.loadTable(ident, location);
  const nowNs = BigInt(Math.floor(deps.clock.nowMs())) * NS_PER_MS;
  const horizonNs = nowNs - BigInt(periodSecs) * NS_PER_SEC;
  // What another engine deleted of a file is applied first (`apply_deletes.ts`).
  const range = { minNs: undefined, maxNs: horizonNs };
  const { files } = await deps.reader.selectWithDeletes(table, range);
  const cutNs = exact ? horizonNs - overdueNsMax(periodSecs) : undefined;
  return { table, horizonNs, ...planRetention(files, { horizonNs, cutNs }) };
}

/** Errors: those of `commitRewrite` and `restOfFile`; after one, look again. */
export async function applyRetention(
  deps: RetentionDeps,
  plan: RetentionPlan,
  options: { readonly signal?: AbortSignal } = {},
): Promise<RetentionReport> {
  const { table, files } = plan;
  const rests: (FileRest & { readonly file: DataFile })[] = [];
  const discard = () =>
    removeQuietly(
      deps.store,
      withSidecars(rests.flatMap((rest) => rest.files.map(({ key }) => key))),
    );
  try {
    const text = plan.cut.length === 0 ? [] : await textOfTable(deps, table);
    const isGone = isBefore(plan.horizonNs);
    for (const file of plan.cut) {
      rests.push({
        file,
        ...await restOfFile(deps, { table, file, isGone }, { ...options, text }),
      });
    }
  } catch (error) {
    await discard();
    throw error;
  }
  const replaced = [...files, ...rests.map(({ file }) => file)];
  const added = rests.flatMap((rest) => rest.files);
  const report = {
    files: files.length,
    cut: rests.length,
    rows: sumOf(files, "rows") + rests.reduce((sum, { rowsDeleted }) => sum + rowsDeleted, 0),
    bytes: sumOf(replaced, "byteLength") - sumOf(added, "byteLength"),
  };
  // Bounds that promise an old row where there is none, as another program may write them, are no
  // reason to write anew.
  if (report.rows === 0) {
    await discard();
    return { outcome: "nothing", ...report };
  }
  const rewrite = {
    ident: table.ident,
    tableUuid: table.uuid,
    kind: "retention",
    replaced,
    files: added,
  } as const;
  const { outcome } = await commitOrDiscard(deps, rewrite, discard);
  return { outcome: outcome === "committed" ? "dropped" : "superseded", ...report };
}

function isBefore(horizonNs: bigint): GoneRows {
  return (batch) => {
    const { values } = columnData(batch, "timestamp_ns");
    const view = viewOf(values);
    return (at) => view.getBigInt64(8 * at, true) < horizonNs;
  };
}

function sumOf<K extends "rows" | "byteLength">(
  files: readonly { readonly [key in K]: number }[],
  member: K,
): number {
  return files.reduce((sum, file) => sum + file[member], 0);
}
