/** Table metadata after a commit, as a value: a snapshot added, the previous file logged. Pure. */

import { assert } from "../base/assert.ts";
import { FILES_ALONE_ID_LAST } from "../schema/row_words.ts";
import { READER_PROPERTIES } from "./new_table.ts";
import type { Snapshot, TableMetadata } from "./table_metadata.ts";

/** Iceberg's defaults of the properties with these names. */
const PREVIOUS_VERSIONS_DEFAULT = 100;
const MAIN = "main";

/**
 * `base` with `snapshot` as the current one of branch main. A table from before gets the properties
 * and the last column id that readers need; what somebody set stays.
 */
export function withSnapshot(base: TableMetadata, snapshot: Snapshot): TableMetadata {
  const id = snapshot["snapshot-id"];
  const nowMs = snapshot["timestamp-ms"];
  assert(snapshot["sequence-number"] > base["last-sequence-number"], "sequence numbers ascend");
  assert(nowMs >= base["last-updated-ms"], "snapshots do not go back in time");
  return {
    ...base,
    properties: { ...READER_PROPERTIES, ...base.properties },
    "last-column-id": Math.max(base["last-column-id"], FILES_ALONE_ID_LAST),
    "last-sequence-number": snapshot["sequence-number"],
    "last-updated-ms": nowMs,
    "current-snapshot-id": id,
    snapshots: [...base.snapshots, snapshot],
    "snapshot-log": [...base["snapshot-log"], { "timestamp-ms": nowMs, "snapshot-id": id }],
    refs: { ...base.refs, [MAIN]: { ...base.refs[MAIN], "snapshot-id": id, type: "branch" } },
  };
}

export interface LoggedMetadata {
  readonly metadata: TableMetadata;
  /** Locations of metadata files that are no longer needed once this is committed. */
  readonly obsolete: readonly string[];
}

/**
 * `next` with the file it replaces in its metadata log, which keeps
 * `write.metadata.previous-versions-max`.
 */
export function withPrevious(
  next: TableMetadata,
  previous: { location: string; updatedMs: number },
): LoggedMetadata {
  const log = [
    ...next["metadata-log"],
    { "timestamp-ms": previous.updatedMs, "metadata-file": previous.location },
  ];
  const kept = log.slice(-versionsMax(next));
  const dropped = log.slice(0, log.length - kept.length);
  const deletes = next.properties["write.metadata.delete-after-commit.enabled"] === "true";
  return {
    metadata: { ...next, "metadata-log": kept },
    obsolete: deletes ? dropped.map((entry) => entry["metadata-file"]) : [],
  };
}

function versionsMax(metadata: TableMetadata): number {
  const text = metadata.properties["write.metadata.previous-versions-max"];
  const value = Number(text ?? PREVIOUS_VERSIONS_DEFAULT);
  return Number.isSafeInteger(value) && value >= 1 ? value : PREVIOUS_VERSIONS_DEFAULT;
}
