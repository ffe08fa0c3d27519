/**
 * Stages a rewrite. The manifests that list a replaced file are written anew, with that file's
 * entry marked deleted, and the new files in one of them. Then come manifest list and metadata.
 * Nothing here changes the table.
 */

import { NS_PER_DAY } from "../base/time.ts";
import { type CommitDeps, readerOf, type StagedChange } from "./commit_table.ts";
import type { LoadedTable } from "./iceberg_reader.ts";
import type { ManifestEntry } from "./manifest.ts";
import { CONTENT, liveFiles, type ManifestFile } from "./manifest_list.ts";
import { MANIFEST_BYTES_TARGET, MANIFEST_FILES_TARGET, planMerge } from "./merge_plan.ts";
import { rangeFilter } from "./prune.ts";
import { rewriteSummary } from "./snapshot_summary.ts";
import {
  addedEntry,
  checkFiles,
  deletedEntry,
  existingEntry,
  specIdOf,
  stageManifest,
} from "./stage_manifest.ts";
import { newSnapshotIds, type SnapshotIds, stageSnapshot } from "./stage_snapshot.ts";
import type { Staging } from "./staging.ts";
import { currentSnapshot } from "./table_metadata.ts";
import { touchedName } from "./touched_files.ts";
import type { DataFile, RewriteCommit } from "./types.ts";

interface RewriteStage {
  readonly rewrite: RewriteCommit;
  readonly staging: Staging;
}

/** undefined when a replaced file is not in the table. */
export async function stageRewrite(
  deps: CommitDeps,
  table: LoadedTable,
  { rewrite, staging }: RewriteStage,
): Promise<StagedChange | undefined> {
  checkFiles(table, rewrite.files);
  const found = await findReplaced(deps, table, rewrite.replaced);
  if (found === undefined) return undefined;
  const deletes = await deletesLeft(deps, table, rewrite);
  if (deletes === undefined) return undefined;
  if (rewrite.replaced.length === 0 && deletes.length > 0) return undefined;
  const untouched = [
    ...found.untouched.filter(({ content }) => content === CONTENT.data),
    ...deletes,
  ];
  const ids = newSnapshotIds(deps, table.metadata);
  const manifests = await stageManifests(deps, table, {
    ...{ rewrite, staging, ids },
    ...{ ...found, untouched },
  });
  const summary = rewriteSummary(
    { rewrite, removed: [...found.removed].map(({ file }) => file) },
    manifests,
    currentSnapshot(table.metadata)?.summary,
  );
  const snapshot = { ids, manifests, summary };
  const staged = stageSnapshot(deps, { table, exists: true }, { snapshot, staging });
  return { ...staged, consumed: [] };
}

/** A manifest that lists a replaced file, with its live entries. */
interface TouchedManifest {
  readonly manifest: ManifestFile;
  readonly entries: readonly ManifestEntry[];
}

interface Found {
  readonly touched: readonly TouchedManifest[];
  /** The manifests that list none. */
  readonly untouched: readonly ManifestFile[];
  readonly removed: ReadonlySet<ManifestEntry>;
}

async function findReplaced(
  deps: CommitDeps,
  table: LoadedTable,
  replaced: readonly DataFile[],
): Promise<Found | undefined> {
  const reader = readerOf(deps);
  const keys = new Set(replaced.map(({ key }) => key));
  const days = [...new Set(replaced.map(({ day }) => day))];
  const live = (await reader.manifests(table)).filter((manifest) => liveFiles(manifest) > 0);
  const candidates = live.filter((manifest) =>
    manifest.content === CONTENT.data && days.some((day) => mayHaveDay(manifest, day))
  );
  // At once: behind a network one after the other would be a round trip each.
  const all = await Promise.all(candidates.map(async (manifest) => ({
    manifest,
    entries: await reader.entries(table, manifest),
  })));
  const removed = new Set(
    all.flatMap(({ entries }) => entries.filter(({ file }) => keys.has(file.key))),
  );
  if (removed.size !== keys.size) return undefined;
  const touched = all.filter(({ entries }) => entries.some((entry) => removed.has(entry)));
  const gone = new Set(touched.map(({ manifest }) => manifest));
  return { touched, removed, untouched: live.filter((manifest) => !gone.has(manifest)) };
}

/**
 * Manifests of other engines' delete files that stay; undefined: a replaced file has deletes that
 * the rewrite does not know, and would lose.
 */
async function deletesLeft(
  deps: CommitDeps,
  table: LoadedTable,
  { replaced, applied }: RewriteCommit,
): Promise<readonly ManifestFile[] | undefined> {
  const reader = readerOf(deps);
  if (!await reader.hasDeletes(table)) return [];
  const { touched } = await reader.selectWithDeletes(table);
  const unknown = touched.filter((one) => applied?.has(touchedName(one)) !== true);
  const keys = new Set(replaced.map(({ key }) => key));
  if (unknown.some(({ file }) => keys.has(file.key))) return undefined;
  if (applied !== undefined && unknown.length === 0) return [];
  return (await reader.manifests(table)).filter((one) =>
    one.content === CONTENT.deletes && liveFiles(one) > 0
  );
}

function mayHaveDay(manifest: ManifestFile, day: number): boolean {
  const minNs = BigInt(day) * NS_PER_DAY;
  return rangeFilter({ minNs, maxNs: minNs + NS_PER_DAY - 1n }).manifest(manifest);
}

/** The new snapshot's manifests, the written ones first. */
async function stageManifests(
  deps: CommitDeps,
  table: LoadedTable,
  change: RewriteStage & Found & { readonly ids: SnapshotIds },
): Promise<ManifestFile[]> {
  const { rewrite, staging, ids, touched, untouched, removed } = change;
  const reader = readerOf(deps);
  const groups = groupsOf(touched).map((group) =>
    group.flatMap(({ entries }) => entries).map((entry) =>
      removed.has(entry) ? deletedEntry(entry, ids) : existingEntry(entry)
    )
  );
  // The smallest takes the new files, and small manifests that are due to be folded.
  const [last = [], ...others] = groups.sort((a, b) => a.length - b.length);
  const added = rewrite.files.map((file) => addedEntry(deps, table, { file, ids }));
  const files = added.length + last.length;
  const plan = planMerge(untouched, { files, specId: specIdOf(table) });
  const merged = await Promise.all(plan.merged.map((manifest) => reader.entries(table, manifest)));
  const first = [...added, ...last, ...merged.flat().map(existingEntry)];
  const written = [first, ...others].filter((entries) => entries.length > 0).flatMap(inManifests)
    .map((entries) => stageManifest(deps, table, { entries, ids, staging }));
  return [...written, ...plan.kept];
}

/** In groups that each make one manifest of about the target size at most. */
function groupsOf(touched: readonly TouchedManifest[]): TouchedManifest[][] {
  const groups: TouchedManifest[][] = [];
  let bytes = Infinity;
  let files = Infinity;
  for (const one of touched) {
    bytes += one.manifest.byteLength;
    files += one.entries.length;
    if (bytes > MANIFEST_BYTES_TARGET || files > MANIFEST_FILES_TARGET) {
      groups.push([]);
      bytes = one.manifest.byteLength;
      files = one.entries.length;
    }
    groups.at(-1)?.push(one);
  }
  return groups;
}

/**
 * Entries of one manifest, or of several when they are many: by day, so that the next rewrite of a
 * day need not write those of others.
 */
function inManifests(entries: readonly ManifestEntry[]): ManifestEntry[][] {
  const byDay = entries.toSorted((a, b) => a.file.day - b.file.day);
  const parts: ManifestEntry[][] = [];
  for (let start = 0; start < byDay.length; start += MANIFEST_FILES_TARGET) {
    parts.push(byDay.slice(start, start + MANIFEST_FILES_TARGET));
  }
  return parts;
}
