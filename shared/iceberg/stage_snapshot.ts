/**
 * The last steps of staging a change: a snapshot's manifest list, and the table metadata that names
 * it. Nothing here changes the table.
 */

import { uuidOfBytes } from "../storage/summed_object.ts";
import type { CommitDeps, StagedChange } from "./commit_table.ts";
import { currentSchemaOf, type LoadedTable } from "./iceberg_reader.ts";
import { manifestListKey, metadataKey, metadataVersionOf } from "./locations.ts";
import { encodeManifestList, type ManifestFile } from "./manifest_list.ts";
import { withPrevious, withSnapshot } from "./next_metadata.ts";
import type { Staging } from "./staging.ts";
import { encodeTableMetadata, type TableMetadata } from "./table_metadata.ts";

const SYNC_BYTES = 16;
const INT64_MAX = 0x7fff_ffff_ffff_ffffn;

/** What a stage starts from: a table, or the metadata of one that does not exist yet. */
export interface StageBase {
  readonly table: LoadedTable;
  /** Whether the table's metadata file exists, and so belongs into the log. */
  readonly exists: boolean;
}

/** What a change calls the snapshot that it adds. */
export interface SnapshotIds {
  readonly snapshotId: bigint;
  readonly sequenceNumber: bigint;
}

export interface NewSnapshot {
  readonly ids: SnapshotIds;
  readonly manifests: readonly ManifestFile[];
  readonly summary: Readonly<Record<string, string>>;
}

/** Ids for a snapshot that the table does not have yet. */
export function newSnapshotIds(deps: CommitDeps, metadata: TableMetadata): SnapshotIds {
  return {
    snapshotId: freshSnapshotId(deps, metadata),
    sequenceNumber: metadata["last-sequence-number"] + 1n,
  };
}

/** Random and positive: Iceberg advises against ids made of time. */
function freshSnapshotId(deps: CommitDeps, metadata: TableMetadata): bigint {
  for (;;) {
    const bytes = deps.random.bytes(8);
    const id = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0) & INT64_MAX;
    const taken = metadata.snapshots.some((snapshot) => snapshot["snapshot-id"] === id);
    if (id > 0n && !taken) return id;
  }
}

/** Puts the snapshot's manifest list, and metadata with it as the current one. */
export function stageSnapshot(
  deps: CommitDeps,
  base: StageBase,
  { snapshot, staging }: { snapshot: NewSnapshot; staging: Staging },
): Omit<StagedChange, "consumed"> {
  const { table } = base;
  const { metadata } = table;
  const { snapshotId, sequenceNumber } = snapshot.ids;
  const parentSnapshotId = table.snapshotId;
  const list = encodeManifestList(
    { snapshotId, parentSnapshotId, sequenceNumber },
    snapshot.manifests,
    deps.random.bytes(SYNC_BYTES),
  );
  const listUuid = uuidOfBytes(deps.random, list);
  const listKey = manifestListKey(table.locationKey, snapshotId, listUuid);
  const listLocation = staging.put(listKey, list);
  const next = withSnapshot(metadata, {
    "snapshot-id": snapshotId,
    ...(parentSnapshotId === undefined ? {} : { "parent-snapshot-id": parentSnapshotId }),
    "sequence-number": sequenceNumber,
    "timestamp-ms": Math.max(deps.clock.nowMs(), metadata["last-updated-ms"]),
    summary: { ...snapshot.summary },
    "manifest-list": listLocation,
    "schema-id": table.schemaId,
  });
  return { ...stageMetadata(deps, base, { next, staging }), snapshotId };
}

/** Puts `next` as the metadata file that follows the base's. */
export function stageMetadata(
  deps: CommitDeps,
  base: StageBase,
  change: { next: TableMetadata; staging: Staging },
): Omit<StagedChange, "snapshotId" | "consumed"> {
  const { table } = base;
  const { metadata, obsolete } = base.exists
    ? withPrevious(change.next, {
      location: table.metadataLocation,
      updatedMs: table.metadata["last-updated-ms"],
    })
    : { metadata: change.next, obsolete: [] };
  const version = base.exists ? (metadataVersionOf(table.metadataLocation) ?? 0) + 1 : 0;
  // A moved warehouse: from here on writers are to write where the table is now.
  const bytes = encodeTableMetadata({ ...metadata, location: table.locator.location });
  const uuid = uuidOfBytes(deps.random, bytes);
  const metadataLocation = change.staging.put(
    metadataKey(table.locationKey, version, uuid),
    bytes,
  );
  return {
    metadataLocation,
    tableUuid: table.uuid,
    schema: currentSchemaOf(metadata, metadataLocation),
    obsolete: obsolete.map((location) => table.locator.keyOf(location)),
  };
}
