/** The summary of an append's snapshot: Iceberg table specification, appendix F; values are strings. */

import { CONTENT, liveFiles, type ManifestFile } from "./manifest_list.ts";
import type { AppendCommit } from "./types.ts";

/** Summary member: JSON array with the names of the WAL segments whose rows the snapshot holds. */
export const WAL_SEGMENTS = "svc.wal-segments";

/** Carried over from the parent: an append changes none of them. */
const DELETE_TOTALS = ["total-delete-files", "total-position-deletes", "total-equality-deletes"];

/** `manifests` are the new snapshot's, `parent` the summary of the snapshot before. */
export function appendSummary(
  append: AppendCommit,
  manifests: readonly ManifestFile[],
  parent: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const { files } = append;
  const addedSize = files.reduce((sum, file) => sum + BigInt(file.byteLength), 0n);
  const addedRows = files.reduce((sum, file) => sum + BigInt(file.rows), 0n);
  const data = manifests.filter((manifest) => manifest.content === CONTENT.data);
  const totalFiles = data.reduce((sum, manifest) => sum + liveFiles(manifest), 0);
  const totalRows = data.reduce((sum, one) => sum + one.addedRows + one.existingRows, 0n);
  const totalSize = totalSizeOf(addedSize, parent);
  const summary: Record<string, string> = {
    operation: "append",
    "added-data-files": String(files.length),
    "added-records": String(addedRows),
    "added-files-size": String(addedSize),
    "changed-partition-count": String(new Set(files.map((file) => file.day)).size),
    "total-records": String(totalRows),
    "total-data-files": String(totalFiles),
    ...(totalSize === undefined ? {} : { "total-files-size": String(totalSize) }),
  };
  for (const name of DELETE_TOTALS) {
    const total = parent === undefined ? "0" : parent[name];
    if (total !== undefined) summary[name] = total;
  }
  summary[WAL_SEGMENTS] = JSON.stringify(append.consumed);
  return summary;
}

/** Unknown after a snapshot that did not say. */
function totalSizeOf(
  addedSize: bigint,
  parent: Readonly<Record<string, string>> | undefined,
): bigint | undefined {
  if (parent === undefined) return addedSize;
  const before = parent["total-files-size"];
  return before !== undefined && /^\d+$/.test(before) ? BigInt(before) + addedSize : undefined;
}
