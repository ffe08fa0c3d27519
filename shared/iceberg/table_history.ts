/**
 * What a table's snapshots did since one of them: the files that appends added, and which commits
 * only rewrote what was there. For programs that follow a table, and for caches of an earlier
 * snapshot.
 */

import { OperatingError } from "../base/errors.ts";
import type { IcebergReader, LoadedTable } from "./iceberg_reader.ts";
import { STATUS } from "./manifest.ts";
import { CONTENT } from "./manifest_list.ts";
import { compareFiles } from "./prune.ts";
import { rewriteKindOf, segmentsOf } from "./snapshot_summary.ts";
import type { Snapshot } from "./table_metadata.ts";
import type { DataFile } from "./types.ts";

export type HistoryStep =
  /** Rows came; files oldest first, and the WAL segments that their rows were in. */
  | {
    readonly kind: "append";
    readonly snapshotId: bigint;
    readonly files: readonly DataFile[];
    readonly segments: readonly string[];
  }
  /**
   * Rows went, or moved to other files: merges, retention, delete tasks, and what other programs
   * do.
   */
  | { readonly kind: "rewrite"; readonly snapshotId: bigint; readonly origin: "svc" | "foreign" };

/**
 * Snapshots after `since`, oldest first, each with its files as they are asked for; undefined is
 * before the first one. Errors, before the first step: `conflict` (`history_gap`) when the current
 * snapshot's ancestors do not lead there, since they have expired or the table was rolled back.
 */
export async function* historySince(
  reader: IcebergReader,
  table: LoadedTable,
  since: bigint | undefined,
): AsyncGenerator<HistoryStep> {
  const newer = ancestorsUpTo(table, since);
  if (newer === undefined) throw historyGap(table, since);
  for (const snapshot of newer.reverse()) {
    const snapshotId = snapshot["snapshot-id"];
    if (snapshot.summary?.["operation"] === "append") {
      const files = await addedFiles(reader, table, snapshot);
      yield { kind: "append", snapshotId, files, segments: segmentsOf(snapshot.summary) };
    } else {
      const origin = rewriteKindOf(snapshot.summary) === undefined ? "foreign" : "svc";
      yield { kind: "rewrite", snapshotId, origin };
    }
  }
}

/**
 * Live files that came after `since`, oldest first. With the rows of that snapshot they are all of
 * the table's. Some rows may have moved and be in both. Undefined when rows may have gone since
 * then, or nobody can tell.
 */
export async function filesSince(
  reader: Pick<IcebergReader, "manifests" | "entries">,
  table: LoadedTable,
  since: bigint,
): Promise<readonly DataFile[] | undefined> {
  const newer = ancestorsUpTo(table, since);
  if (newer === undefined || !newer.every(keepsRows)) return undefined;
  const ids = new Set(newer.map((snapshot) => snapshot["snapshot-id"]));
  const files: DataFile[] = [];
  for (const manifest of await reader.manifests(table)) {
    if (manifest.content !== CONTENT.data) return undefined;
    // A commit that adds a file writes the manifest that names it. A commit that moves the name
    // writes the other manifest.
    if (!ids.has(manifest.addedSnapshotId)) continue;
    for (const entry of await reader.entries(table, manifest)) {
      if (ids.has(entry.snapshotId)) files.push(entry.file);
    }
  }
  return files.sort(compareFiles);
}

function keepsRows({ summary }: Snapshot): boolean {
  return summary?.["operation"] === "append" || summary?.["operation"] === "replace";
}

/** Newest first, without `since`; undefined when they do not lead there. */
function ancestorsUpTo(table: LoadedTable, since: bigint | undefined): Snapshot[] | undefined {
  const byId = new Map(table.metadata.snapshots.map((one) => [one["snapshot-id"], one]));
  const ancestors: Snapshot[] = [];
  let id: bigint | null | undefined = table.snapshotId;
  while (id !== since) {
    const snapshot: Snapshot | undefined = typeof id === "bigint" ? byId.get(id) : undefined;
    if (snapshot === undefined) return undefined;
    ancestors.push(snapshot);
    id = snapshot["parent-snapshot-id"] ?? undefined;
  }
  return ancestors;
}

/** A snapshot of the table, or one of its files, is gone that a follower had not read. */
export function historyGap(table: LoadedTable, since: bigint | undefined): OperatingError {
  const { namespace, name } = table.ident;
  return new OperatingError(
    "conflict",
    `Cannot follow table ${namespace}.${name} from snapshot ${
      since ?? "(none)"
    } on: snapshots between it and ` +
      `the current one, ${
        table.snapshotId ?? "(none)"
      }, have expired. Rows were committed that were not read; ` +
      "begin anew from a time with --since, and follow more closely or keep more snapshots " +
      "(SVC_SNAPSHOT_RETAIN_SECS)",
    { reason: "history_gap" },
  );
}

async function addedFiles(
  reader: IcebergReader,
  table: LoadedTable,
  snapshot: Snapshot,
): Promise<readonly DataFile[]> {
  const snapshotId = snapshot["snapshot-id"];
  const metadata = { ...table.metadata, "current-snapshot-id": snapshotId };
  const manifests = await reader.manifests({ ...table, metadata, snapshotId });
  const files: DataFile[] = [];
  for (const manifest of manifests) {
    if (manifest.content !== CONTENT.data || manifest.addedSnapshotId !== snapshotId) continue;
    for (const entry of await reader.entries(table, manifest)) {
      if (entry.status === STATUS.added && entry.snapshotId === snapshotId) files.push(entry.file);
    }
  }
  return files.sort(compareFiles);
}
