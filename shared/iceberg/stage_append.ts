/**
 * Stages an append: one manifest (the new files, and small older manifests folded in), one manifest list,
 * one metadata file. Nothing here changes the table.
 */

import { assert, present } from "../base/assert.ts";
import { OperatingError } from "../base/errors.ts";
import { dayOfNs } from "../base/time.ts";
import { uuidV4 } from "../os/random.ts";
import { type CommitDeps, readerOf, type StagedChange } from "./commit_table.ts";
import { currentSchemaOf, type LoadedTable } from "./iceberg_reader.ts";
import { manifestKey, manifestListKey, metadataKey, metadataVersionOf } from "./locations.ts";
import { encodeManifest, type ListedFile, type ManifestEntry, STATUS } from "./manifest.ts";
import { CONTENT, encodeManifestList, type ManifestFile } from "./manifest_list.ts";
import { planMerge } from "./merge_plan.ts";
import { withPrevious, withSnapshot } from "./next_metadata.ts";
import { dayFieldOf } from "./partition.ts";
import { encodeSingleValue } from "./single_value.ts";
import { appendSummary } from "./snapshot_summary.ts";
import type { Staging } from "./staging.ts";
import { currentSnapshot, encodeTableMetadata, type TableMetadata } from "./table_metadata.ts";
import type { AppendCommit, NewDataFile } from "./types.ts";

const SYNC_BYTES = 16;
const INT64_MAX = 0x7fff_ffff_ffff_ffffn;

/** What a stage starts from: a table, or the metadata of one that does not exist yet. */
export interface AppendBase {
  readonly table: LoadedTable;
  /** Whether the table's metadata file exists, and so belongs into the log. */
  readonly exists: boolean;
}

export async function stageAppend(
  deps: CommitDeps,
  base: AppendBase,
  change: { append: AppendCommit; staging: Staging },
): Promise<StagedChange> {
  const { table } = base;
  const { append, staging } = change;
  const { metadata } = table;
  checkFiles(table, append.files);
  const snapshotId = newSnapshotId(deps, metadata);
  const sequenceNumber = metadata["last-sequence-number"] + 1n;
  const manifests = await stageManifests(deps, table, {
    files: append.files,
    snapshotId,
    sequenceNumber,
    staging,
  });
  const parentSnapshotId = table.snapshotId;
  const list = encodeManifestList(
    { snapshotId, parentSnapshotId, sequenceNumber },
    manifests,
    deps.random.bytes(SYNC_BYTES),
  );
  const listKey = manifestListKey(table.locationKey, snapshotId, uuidV4(deps.random));
  const next = withSnapshot(metadata, {
    "snapshot-id": snapshotId,
    ...(parentSnapshotId === undefined ? {} : { "parent-snapshot-id": parentSnapshotId }),
    "sequence-number": sequenceNumber,
    "timestamp-ms": Math.max(deps.clock.nowMs(), metadata["last-updated-ms"]),
    summary: appendSummary(append, manifests, currentSnapshot(metadata)?.summary),
    "manifest-list": `${deps.store.rootUri}/${listKey}`,
    "schema-id": table.schemaId,
  });
  // Nothing refers to either before the commit point. Both have ended before a failure is told: a write that is still
  // on its way could land after what was staged is discarded.
  const [listed, staged] = await Promise.allSettled([
    staging.put(listKey, list),
    stageMetadata(deps, base, { next, staging }),
  ]);
  if (listed.status === "rejected") throw listed.reason;
  if (staged.status === "rejected") throw staged.reason;
  return { ...staged.value, snapshotId, consumed: append.consumed };
}

/** Writes `next` as the metadata file that follows the base's. */
export async function stageMetadata(
  deps: CommitDeps,
  base: AppendBase,
  change: { next: TableMetadata; staging: Staging },
): Promise<Omit<StagedChange, "snapshotId" | "consumed">> {
  const { table } = base;
  const { metadata, obsolete } = base.exists
    ? withPrevious(change.next, {
      location: table.metadataLocation,
      updatedMs: table.metadata["last-updated-ms"],
    })
    : { metadata: change.next, obsolete: [] };
  const version = base.exists ? (metadataVersionOf(table.metadataLocation) ?? 0) + 1 : 0;
  const metadataLocation = await change.staging.put(
    metadataKey(table.locationKey, version, uuidV4(deps.random)),
    // A moved warehouse: from here on writers are to write where the table is now.
    encodeTableMetadata({ ...metadata, location: table.locator.location }),
  );
  return {
    metadataLocation,
    tableUuid: table.uuid,
    schema: currentSchemaOf(metadata, metadataLocation),
    obsolete: obsolete.map((location) => table.locator.keyOf(location)),
  };
}

interface NewManifest {
  readonly files: readonly NewDataFile[];
  readonly snapshotId: bigint;
  readonly sequenceNumber: bigint;
  readonly staging: Staging;
}

/** The new snapshot's manifests, the written one first. */
async function stageManifests(
  deps: CommitDeps,
  table: LoadedTable,
  change: NewManifest,
): Promise<ManifestFile[]> {
  const { metadata, schema } = table;
  const specId = metadata["default-spec-id"];
  const spec = present(
    metadata["partition-specs"].find((candidate) => candidate["spec-id"] === specId),
    "default partition spec",
  );
  const day = dayFieldOf(spec, schema, metadata.location);
  const reader = readerOf(deps);
  const plan = planMerge(await reader.manifests(table), { files: change.files.length, specId });
  const entries = change.files.map((file) => addedEntry(deps, table, { file, change }));
  // At once: behind a network one after the other would be a round trip each.
  const merged = await Promise.all(plan.merged.map((manifest) => reader.entries(table, manifest)));
  for (const entry of merged.flat()) entries.push({ ...entry, status: STATUS.existing });
  if (entries.length === 0) return [...plan.kept];
  const schemaJson = present(
    metadata.schemas.find((candidate) => candidate["schema-id"] === table.schemaId),
    "current schema",
  );
  const bytes = encodeManifest({ schema: schemaJson, specId, day }, entries, {
    schema,
    sync: deps.random.bytes(SYNC_BYTES),
  });
  const location = await change.staging.put(
    manifestKey(table.locationKey, uuidV4(deps.random)),
    bytes,
  );
  const written = { location, byteLength: bytes.byteLength, specId };
  return [manifestFileOf(written, entries, change), ...plan.kept];
}

function addedEntry(
  deps: CommitDeps,
  table: LoadedTable,
  { file, change }: { file: NewDataFile; change: NewManifest },
): ManifestEntry {
  const listed: ListedFile = {
    ...file,
    location: `${deps.store.rootUri}/${file.key}`,
    lowerBounds: withTimeBound(table, file.lowerBounds, file.timestampNsMin),
    upperBounds: withTimeBound(table, file.upperBounds, file.timestampNsMax),
    nanCounts: new Map(),
    keyMetadata: undefined,
  };
  return {
    status: STATUS.added,
    snapshotId: change.snapshotId,
    sequenceNumber: undefined,
    fileSequenceNumber: undefined,
    file: listed,
  };
}

/** The bounds that pruning needs are written even when only the file's own fields had them. */
function withTimeBound(
  table: LoadedTable,
  bounds: ReadonlyMap<number, Uint8Array>,
  ns: bigint | undefined,
): ReadonlyMap<number, Uint8Array> {
  const id = table.schema.columns.find(({ name }) => name === "timestamp_ns")?.id;
  if (id === undefined || ns === undefined || bounds.has(id)) return bounds;
  return new Map([...bounds, [id, encodeSingleValue("long", ns)]]);
}

function manifestFileOf(
  written: { location: string; byteLength: number; specId: number },
  entries: readonly ManifestEntry[],
  change: NewManifest,
): ManifestFile {
  const added = entries.filter((entry) => entry.status === STATUS.added);
  const existing = entries.filter((entry) => entry.status === STATUS.existing);
  const days = entries.map((entry) => entry.file.day);
  let minSequenceNumber = change.sequenceNumber;
  for (const { sequenceNumber } of existing) {
    if (sequenceNumber !== undefined && sequenceNumber < minSequenceNumber) {
      minSequenceNumber = sequenceNumber;
    }
  }
  return {
    ...written,
    content: CONTENT.data,
    sequenceNumber: change.sequenceNumber,
    minSequenceNumber,
    addedSnapshotId: change.snapshotId,
    addedFiles: added.length,
    existingFiles: existing.length,
    deletedFiles: 0,
    addedRows: rowsOf(added),
    existingRows: rowsOf(existing),
    deletedRows: 0n,
    partitions: [{
      containsNull: false,
      containsNan: false,
      lowerBound: encodeSingleValue("int", days.reduce((a, b) => Math.min(a, b))),
      upperBound: encodeSingleValue("int", days.reduce((a, b) => Math.max(a, b))),
    }],
    keyMetadata: undefined,
  };
}

function rowsOf(entries: readonly ManifestEntry[]): bigint {
  return entries.reduce((sum, entry) => sum + BigInt(entry.file.rows), 0n);
}

/** Here a file becomes durable table content: its numbers are asserted, its incarnation is checked. */
function checkFiles(table: LoadedTable, files: readonly NewDataFile[]): void {
  for (const file of files) {
    assert(Number.isSafeInteger(file.rows) && file.rows > 0, `rows of ${file.key}`);
    assert(Number.isSafeInteger(file.byteLength) && file.byteLength > 0, `size of ${file.key}`);
    for (const ns of [file.timestampNsMin, file.timestampNsMax]) {
      assert(ns === undefined || dayOfNs(ns) === file.day, `day of ${file.key} holds its times`);
    }
    if (file.key.startsWith(`${table.locationKey}/`)) continue;
    throw new OperatingError(
      "conflict",
      `Cannot append ${file.key} to table ${table.ident.namespace}.${table.ident.name}: the table is now ` +
        `at ${table.locationKey}. Write the rows again, to files of the table that ensureTable returns.`,
      { reason: "table_recreated" },
    );
  }
}

/** Random and positive: Iceberg advises against ids made of time. */
function newSnapshotId(deps: CommitDeps, metadata: TableMetadata): bigint {
  for (;;) {
    const bytes = deps.random.bytes(8);
    const id = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0) & INT64_MAX;
    const taken = metadata.snapshots.some((snapshot) => snapshot["snapshot-id"] === id);
    if (id > 0n && !taken) return id;
  }
}
