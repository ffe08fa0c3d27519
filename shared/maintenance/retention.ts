/**
 * Retention: data files all of whose rows are older than an index keeps them leave the table, whole and in one commit.
 * `planRetention` is pure; `applyRetention` commits. The files themselves go when the snapshots that have them expire.
 *
 * A file that reaches past the horizon stays whole, so rows outlive their period by what one file covers: a day at most,
 * as files are of one day.
 */

import { NS_PER_MS, NS_PER_SEC } from "../base/time.ts";
import type { TableIdent } from "../event/tenant.ts";
import { commitRewrite } from "../iceberg/commit_rewrite.ts";
import { type CommitDeps, readerOf } from "../iceberg/commit_table.ts";
import type { LoadedTable } from "../iceberg/iceberg_reader.ts";
import type { DataFile } from "../iceberg/types.ts";

export interface RetentionPlan {
  readonly table: LoadedTable;
  /** Rows before it have outlived their period: Unix nanoseconds. */
  readonly horizonNs: bigint;
  /** Oldest first. */
  readonly files: readonly DataFile[];
}

export interface RetentionReport {
  readonly outcome: "dropped" | "superseded" | "nothing";
  readonly files: number;
  readonly rows: number;
  readonly bytes: number;
}

/** The files of `files` that have no row from `horizonNs` on; one without bounds stays. */
export function planRetention(files: readonly DataFile[], horizonNs: bigint): DataFile[] {
  return files.filter(({ timestampNsMax }) =>
    timestampNsMax !== undefined && timestampNsMax < horizonNs
  );
}

/** How long the index of a table keeps its rows, in seconds; undefined: for ever. Errors: the catalog's. */
export async function retentionSecsOf(
  { catalog }: Pick<CommitDeps, "catalog">,
  ident: TableIdent,
): Promise<number | undefined> {
  const { index } = await catalog.indexState(ident);
  return index?.config.retention?.period_secs;
}

/** What `periodSecs` takes out of a table; undefined when there is no such table. Errors: those of reading it. */
export async function lookForRetention(
  given: CommitDeps,
  ident: TableIdent,
  periodSecs: number,
): Promise<RetentionPlan | undefined> {
  const deps = { ...given, reader: readerOf(given) };
  const location = await deps.catalog.metadataLocation(ident);
  if (location === undefined) return undefined;
  const table = await deps.reader.loadTable(ident, location);
  const nowNs = BigInt(Math.floor(deps.clock.nowMs())) * NS_PER_MS;
  const horizonNs = nowNs - BigInt(periodSecs) * NS_PER_SEC;
  const { files } = await deps.reader.selectFiles(table, { minNs: undefined, maxNs: horizonNs });
  return { table, horizonNs, files: planRetention(files, horizonNs) };
}

/** Errors: those of `commitRewrite`; after one, look again. */
export async function applyRetention(
  deps: CommitDeps,
  { table, files }: RetentionPlan,
): Promise<RetentionReport> {
  const report = {
    files: files.length,
    rows: files.reduce((sum, file) => sum + file.rows, 0),
    bytes: files.reduce((sum, file) => sum + file.byteLength, 0),
  };
  if (files.length === 0) return { outcome: "nothing", ...report };
  const { outcome } = await commitRewrite(deps, {
    ident: table.ident,
    tableUuid: table.uuid,
    kind: "retention",
    replaced: files,
    files: [],
  });
  return { outcome: outcome === "committed" ? "dropped" : "superseded", ...report };
}
