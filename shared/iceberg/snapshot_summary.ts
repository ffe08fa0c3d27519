/** The summary of a snapshot: Iceberg table specification, appendix F; values are strings. */

import { CONTENT, liveFiles, type ManifestFile } from "./manifest_list.ts";
import type { AppendCommit, DataFile, RewriteCommit, RewriteKind } from "./types.ts";

/** Summary member: JSON array with the names of the WAL segments whose rows the snapshot holds. */
export const WAL_SEGMENTS = "svc.wal-segments";
/** Summary member of a snapshot that `commitRewrite` made: its `RewriteKind`. */
export const REWRITE = "svc.rewrite";

/** Carried over from the parent: a change of ours leaves all of them, or none. */
const DELETE_TOTALS = ["total-delete-files", "total-position-deletes", "total-equality-deletes"];

const KINDS: readonly RewriteKind[] = ["merge", "retention", "delete", "apply"];

type Summary = Readonly<Record<string, string>>;
type CountedFile = Pick<DataFile, "rows" | "byteLength" | "day">;

/** `manifests` are the new snapshot's, `parent` the summary of the snapshot before. */
export function appendSummary(
  append: AppendCommit,
  manifests: readonly ManifestFile[],
  parent: Summary | undefined,
): Record<string, string> {
  const change = { operation: "append", added: append.files, removed: [] };
  return {
    ...changeSummary(change, manifests, parent),
    [WAL_SEGMENTS]: JSON.stringify(append.consumed),
  };
}

/**
 * The summary of a rewrite. `removed` are the replaced files as the table listed them, the others
 * as of `appendSummary`.
 */
export function rewriteSummary(
  { rewrite, removed }: { rewrite: RewriteCommit; removed: readonly CountedFile[] },
  manifests: readonly ManifestFile[],
  parent: Summary | undefined,
): Record<string, string> {
  const change = { operation: operationOf(rewrite), added: rewrite.files, removed };
  return {
    ...changeSummary(change, manifests, parent),
    ...rewrite.summary,
    [REWRITE]: rewrite.kind,
  };
}

/**
 * What made a snapshot, when it was a rewrite of ours; undefined: rows were added, or another
 * program did it.
 */
export function rewriteKindOf(summary: Summary | undefined): RewriteKind | undefined {
  const kind = summary?.[REWRITE];
  return KINDS.find((known) => known === kind);
}

/** The WAL segments whose rows an append brought; none of another program's. */
export function segmentsOf(summary: Summary | undefined): readonly string[] {
  const list: unknown = JSON.parse(summary?.[WAL_SEGMENTS] ?? "[]");
  return Array.isArray(list) ? list.map(String) : [];
}

/** `replace` is for a change that leaves the table's rows as they are. */
function operationOf({ kind, files }: RewriteCommit): string {
  if (kind === "merge" || kind === "apply") return "replace";
  return files.length === 0 ? "delete" : "overwrite";
}

function changeSummary(
  change: {
    operation: string;
    added: readonly CountedFile[];
    removed: readonly CountedFile[];
  },
  manifests: readonly ManifestFile[],
  parent: Summary | undefined,
): Record<string, string> {
  const { operation, added, removed } = change;
  const data = manifests.filter((manifest) => manifest.content === CONTENT.data);
  const totalFiles = data.reduce((sum, manifest) => sum + liveFiles(manifest), 0);
  const totalRows = data.reduce((sum, one) => sum + one.addedRows + one.existingRows, 0n);
  const totalSize = totalSizeOf(sizeOf(added) - sizeOf(removed), parent);
  const summary: Record<string, string> = {
    operation,
    "added-data-files": String(added.length),
    "added-records": String(rowsOf(added)),
    "added-files-size": String(sizeOf(added)),
    ...(removed.length === 0 ? {} : {
      "deleted-data-files": String(removed.length),
      "deleted-records": String(rowsOf(removed)),
      "removed-files-size": String(sizeOf(removed)),
    }),
    "changed-partition-count": String(new Set([...added, ...removed].map(({ day }) => day)).size),
    "total-records": String(totalRows),
    "total-data-files": String(totalFiles),
    ...(totalSize === undefined ? {} : { "total-files-size": String(totalSize) }),
  };
  const hasDeletes = manifests.some((one) => one.content === CONTENT.deletes);
  for (const name of DELETE_TOTALS) {
    const total = parent === undefined || !hasDeletes ? "0" : parent[name];
    if (total !== undefined) summary[name] = total;
  }
  return summary;
}

function sizeOf(files: readonly CountedFile[]): bigint {
  return files.reduce((sum, file) => sum + BigInt(file.byteLength), 0n);
}

function rowsOf(files: readonly CountedFile[]): bigint {
  return files.reduce((sum, file) => sum + BigInt(file.rows), 0n);
}

/** Unknown after a snapshot that did not say. */
function totalSizeOf(grown: bigint, parent: Summary | undefined): bigint | undefined {
  if (parent === undefined) return grown;
  const before = parent["total-files-size"];
  return before !== undefined && /^\d+$/.test(before) ? BigInt(before) + grown : undefined;
}
