/**
 * Stages an append: one manifest (the new files, and small older manifests folded in), one manifest
 * list, one metadata file. Nothing here changes the table.
 */

import { type CommitDeps, readerOf, type StagedChange } from "./commit_table.ts";
import type { LoadedTable } from "./iceberg_reader.ts";
import { liveFiles, type ManifestFile } from "./manifest_list.ts";
import { planMerge } from "./merge_plan.ts";
import { appendSummary } from "./snapshot_summary.ts";
import {
  addedEntry,
  checkFiles,
  existingEntry,
  specIdOf,
  stageManifest,
} from "./stage_manifest.ts";
import {
  newSnapshotIds,
  type SnapshotIds,
  type StageBase,
  stageSnapshot,
} from "./stage_snapshot.ts";
import type { Staging } from "./staging.ts";
import { currentSnapshot } from "./table_metadata.ts";
import type { AppendCommit, NewDataFile } from "./types.ts";

/**
 * Writes the files of an append: a manifest, the manifest list and the metadata. Nothing refers to
 * them before the commit.
 */
export async function stageAppend(
  deps: CommitDeps,
  base: StageBase,
  change: { append: AppendCommit; staging: Staging },
): Promise<StagedChange> {
  const { table } = base;
  const { append, staging } = change;
  checkFiles(table, append.files);
  const ids = newSnapshotIds(deps, table.metadata);
  const manifests = await stageManifests(deps, table, { files: append.files, ids, staging });
  const summary = appendSummary(append, manifests, currentSnapshot(table.metadata)?.summary);
  const snapshot = { ids, manifests, summary };
  const staged = stageSnapshot(deps, base, { snapshot, staging });
  return { ...staged, consumed: append.consumed };
}

/** The new snapshot's manifests, the written one first. */
async function stageManifests(
  deps: CommitDeps,
  table: LoadedTable,
  change: { files: readonly NewDataFile[]; ids: SnapshotIds; staging: Staging },
): Promise<ManifestFile[]> {
  const { files, ids, staging } = change;
  const reader = readerOf(deps);
  // One whose files were all taken out told so in the snapshot that did it; no later one needs it.
  const present = (await reader.manifests(table)).filter((manifest) => liveFiles(manifest) > 0);
  const plan = planMerge(present, { files: files.length, specId: specIdOf(table) });
  const entries = files.map((file) => addedEntry(deps, table, { file, ids }));
  // At once: behind a network one after the other would be a round trip each.
  const merged = await Promise.all(plan.merged.map((manifest) => reader.entries(table, manifest)));
  entries.push(...merged.flat().map(existingEntry));
  if (entries.length === 0) return [...plan.kept];
  return [stageManifest(deps, table, { entries, ids, staging }), ...plan.kept];
}
