/**
 * Writes a change's manifest: new files, files of older manifests that go on in it, files that the
 * change takes out. Entry by entry as the Iceberg table specification has it under "Manifests" and
 * "Sequence Number Inheritance".
 */

import { assert, present } from "../base/assert.ts";
import { OperatingError } from "../base/errors.ts";
import { dayOfNs } from "../base/time.ts";
import { uuidOfBytes } from "../storage/summed_object.ts";
import type { CommitDeps } from "./commit_table.ts";
import type { LoadedTable } from "./iceberg_reader.ts";
import { manifestKey } from "./locations.ts";
import { encodeManifest, type ListedFile, type ManifestEntry, STATUS } from "./manifest.ts";
import { CONTENT, type ManifestFile } from "./manifest_list.ts";
import { dayFieldOf } from "./partition.ts";
import { encodeSingleValue } from "./single_value.ts";
import type { SnapshotIds } from "./stage_snapshot.ts";
import type { Staging } from "./staging.ts";
import type { NewDataFile } from "./types.ts";

const SYNC_BYTES = 16;

/** Id of the partition spec that new manifests have. */
export function specIdOf({ metadata }: LoadedTable): number {
  return metadata["default-spec-id"];
}

/** Puts one manifest of `entries`, of which there is at least one. */
export function stageManifest(
  deps: CommitDeps,
  table: LoadedTable,
  change: { entries: readonly ManifestEntry[]; ids: SnapshotIds; staging: Staging },
): ManifestFile {
  const { metadata, schema } = table;
  const specId = specIdOf(table);
  const spec = present(
    metadata["partition-specs"].find((candidate) => candidate["spec-id"] === specId),
    "default partition spec",
  );
  const day = dayFieldOf(spec, schema, metadata.location);
  const schemaJson = present(
    metadata.schemas.find((candidate) => candidate["schema-id"] === table.schemaId),
    "current schema",
  );
  const bytes = encodeManifest({ schema: schemaJson, specId, day }, change.entries, {
    schema,
    sync: deps.random.bytes(SYNC_BYTES),
  });
  const uuid = uuidOfBytes(deps.random, bytes);
  const location = change.staging.put(manifestKey(table.locationKey, uuid), bytes);
  const written = { location, byteLength: bytes.byteLength, specId };
  return manifestFileOf(written, change.entries, change.ids);
}

/** The entry of a file that the change adds. */
export function addedEntry(
  deps: CommitDeps,
  table: LoadedTable,
  { file, ids }: { file: NewDataFile; ids: SnapshotIds },
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
    snapshotId: ids.snapshotId,
    sequenceNumber: undefined,
    fileSequenceNumber: undefined,
    file: listed,
  };
}

/** The entry of a file of an older manifest that stays in the table. */
export function existingEntry(entry: ManifestEntry): ManifestEntry {
  return { ...entry, status: STATUS.existing };
}

/**
 * The entry of a file that the change takes out: it keeps its sequence numbers and tells who took
 * it out.
 */
export function deletedEntry(entry: ManifestEntry, { snapshotId }: SnapshotIds): ManifestEntry {
  return { ...entry, status: STATUS.deleted, snapshotId };
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
  ids: SnapshotIds,
): ManifestFile {
  const added = entries.filter((entry) => entry.status === STATUS.added);
  const existing = entries.filter((entry) => entry.status === STATUS.existing);
  const deleted = entries.filter((entry) => entry.status === STATUS.deleted);
  const days = entries.map((entry) => entry.file.day);
  let minSequenceNumber = ids.sequenceNumber;
  for (const { sequenceNumber } of existing) {
    if (sequenceNumber !== undefined && sequenceNumber < minSequenceNumber) {
      minSequenceNumber = sequenceNumber;
    }
  }
  return {
    ...written,
    content: CONTENT.data,
    sequenceNumber: ids.sequenceNumber,
    minSequenceNumber,
    addedSnapshotId: ids.snapshotId,
    addedFiles: added.length,
    existingFiles: existing.length,
    deletedFiles: deleted.length,
    addedRows: rowsOf(added),
    existingRows: rowsOf(existing),
    deletedRows: rowsOf(deleted),
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

/**
 * Here a file becomes durable table content: its numbers are asserted, its incarnation is checked.
 */
export function checkFiles(table: LoadedTable, files: readonly NewDataFile[]): void {
  for (const file of files) {
    assert(Number.isSafeInteger(file.rows) && file.rows > 0, `rows of ${file.key}`);
    assert(Number.isSafeInteger(file.byteLength) && file.byteLength > 0, `size of ${file.key}`);
    for (const ns of [file.timestampNsMin, file.timestampNsMax]) {
      assert(ns === undefined || dayOfNs(ns) === file.day, `day of ${file.key} holds its times`);
    }
    if (file.key.startsWith(`${table.locationKey}/`)) continue;
    throw new OperatingError(
      "conflict",
      `Cannot add ${file.key} to table ${table.ident.namespace}.${table.ident.name}: the table is now ` +
        `at ${table.locationKey}. Write the rows again, to files of the table that ensureTable returns.`,
      { reason: "table_recreated" },
    );
  }
}
