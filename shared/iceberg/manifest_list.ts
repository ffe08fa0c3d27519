/** Manifest lists: the manifests of one snapshot, with counts and the range of days of each. */

import { Buffer } from "node:buffer";
import { OperatingError } from "../base/errors.ts";
import { type AvroRecord, readAvroFile, writeAvroFile } from "./avro_container.ts";
import { FieldNames } from "./avro_fields.ts";
import { MANIFEST_FILE_SCHEMA } from "./manifest_schemas.ts";
import { FORMAT_VERSION } from "./table_metadata.ts";

export const CONTENT = { data: 0, deletes: 1 } as const;

export interface FieldSummary {
  readonly containsNull: boolean;
  readonly containsNan: boolean | undefined;
  readonly lowerBound: Uint8Array | undefined;
  readonly upperBound: Uint8Array | undefined;
}

/** One row of a manifest list. */
export interface ManifestFile {
  readonly location: string;
  readonly byteLength: number;
  readonly specId: number;
  readonly content: number;
  readonly sequenceNumber: bigint;
  readonly minSequenceNumber: bigint;
  readonly addedSnapshotId: bigint;
  readonly addedFiles: number;
  readonly existingFiles: number;
  readonly deletedFiles: number;
  readonly addedRows: bigint;
  readonly existingRows: bigint;
  readonly deletedRows: bigint;
  /** One per field of the partition spec; undefined when the writer left them out. */
  readonly partitions: readonly FieldSummary[] | undefined;
  readonly keyMetadata: Uint8Array | undefined;
}

/** The snapshot that a list belongs to: for the file's header. */
export interface ListHeader {
  readonly snapshotId: bigint;
  readonly parentSnapshotId: bigint | undefined;
  readonly sequenceNumber: bigint;
}

/** How many data files of the manifest are in the table. */
export function liveFiles(manifest: ManifestFile): number {
  return manifest.addedFiles + manifest.existingFiles;
}

/** The Avro file of a snapshot's manifest list. */
export function encodeManifestList(
  header: ListHeader,
  manifests: readonly ManifestFile[],
  sync: Uint8Array,
): Uint8Array<ArrayBuffer> {
  return writeAvroFile(MANIFEST_FILE_SCHEMA, manifests.map(manifestRecord), {
    metadata: {
      "snapshot-id": String(header.snapshotId),
      "parent-snapshot-id": String(header.parentSnapshotId ?? null),
      "sequence-number": String(header.sequenceNumber),
      "format-version": String(FORMAT_VERSION),
    },
    sync,
  });
}

function manifestRecord(manifest: ManifestFile): AvroRecord {
  return {
    manifest_path: manifest.location,
    manifest_length: BigInt(manifest.byteLength),
    partition_spec_id: manifest.specId,
    content: manifest.content,
    sequence_number: manifest.sequenceNumber,
    min_sequence_number: manifest.minSequenceNumber,
    added_snapshot_id: manifest.addedSnapshotId,
    added_files_count: manifest.addedFiles,
    existing_files_count: manifest.existingFiles,
    deleted_files_count: manifest.deletedFiles,
    added_rows_count: manifest.addedRows,
    existing_rows_count: manifest.existingRows,
    deleted_rows_count: manifest.deletedRows,
    partitions: manifest.partitions?.map((summary) => ({
      contains_null: summary.containsNull,
      contains_nan: summary.containsNan ?? null,
      lower_bound: bufferOf(summary.lowerBound),
      upper_bound: bufferOf(summary.upperBound),
    })) ?? null,
    key_metadata: bufferOf(manifest.keyMetadata),
  };
}

function bufferOf(bytes: Uint8Array | undefined): Buffer | null {
  return bytes === undefined ? null : Buffer.from(bytes);
}

/**
 * `name` is for messages. Errors: `corrupt`, `unimplemented` for a list without counts (version 1).
 */
export function decodeManifestList(bytes: Uint8Array, name: string): ManifestFile[] {
  const avro = readAvroFile(bytes, name);
  const names = new FieldNames(avro.schema);
  return avro.records.map((record) => manifestFile(names, record, name));
}

function manifestFile(names: FieldNames, record: AvroRecord, name: string): ManifestFile {
  const needed = <T>(value: T | undefined, what: string): T => {
    if (value !== undefined) return value;
    throw new OperatingError(
      "unimplemented",
      `Cannot read manifest list ${name}: a row lacks ${what}, which format version 2 requires. ` +
        "Rewrite the table's manifests with the engine that wrote it.",
    );
  };
  const content = names.number(record, 517) ?? CONTENT.data;
  if (content !== CONTENT.data && content !== CONTENT.deletes) {
    throw new OperatingError(
      "unimplemented",
      `Cannot read manifest list ${name}: a manifest has content ${content}; 0 and 1 are known.`,
    );
  }
  return {
    location: needed(names.text(record, 500), "manifest_path"),
    byteLength: Number(needed(names.long(record, 501), "manifest_length")),
    specId: needed(names.number(record, 502), "partition_spec_id"),
    content,
    sequenceNumber: names.long(record, 515) ?? 0n,
    minSequenceNumber: names.long(record, 516) ?? 0n,
    addedSnapshotId: needed(names.long(record, 503), "added_snapshot_id"),
    addedFiles: needed(names.number(record, 504), "added_files_count"),
    existingFiles: needed(names.number(record, 505), "existing_files_count"),
    deletedFiles: needed(names.number(record, 506), "deleted_files_count"),
    addedRows: needed(names.long(record, 512), "added_rows_count"),
    existingRows: needed(names.long(record, 513), "existing_rows_count"),
    deletedRows: needed(names.long(record, 514), "deleted_rows_count"),
    partitions: names.records(record, 507)?.map((summary) => ({
      containsNull: names.boolean(summary, 509) ?? true,
      containsNan: names.boolean(summary, 518),
      lowerBound: names.bytes(summary, 510),
      upperBound: names.bytes(summary, 511),
    })),
    keyMetadata: names.bytes(record, 519),
  };
}
