/**
 * Manifests: which data files a snapshot has, with their bounds and counts. Iceberg table
 * specification, "Manifests" and "Sequence Number Inheritance". Fields are found by id, as writers
 * differ in names.
 *
 * Invariants: a manifest has files of one partition spec; an added entry inherits snapshot and
 * sequence number, an existing one has both written out.
 */

import { Buffer } from "node:buffer";
import { assert, present } from "../base/assert.ts";
import { OperatingError } from "../base/errors.ts";
import type { ColumnType, TableSchema } from "../schema/schema.ts";
import { type AvroRecord, readAvroFile, writeAvroFile } from "./avro_container.ts";
import { FieldNames } from "./avro_fields.ts";
import type { TableLocator } from "./locations.ts";
import { losslessJson } from "./lossless_json.ts";
import { CONTENT, type ManifestFile } from "./manifest_list.ts";
import {
  copiedEntries,
  encodedEntry,
  type EntryHead,
  headRecord,
  type WantedEntry,
} from "./encoded_entry.ts";
import { manifestEntrySchema } from "./manifest_schemas.ts";
import type { DayField } from "./partition.ts";
import type { SchemaJson } from "./schema_json.ts";
import { decodeSingleValue, shortenLowerBound, shortenUpperBound } from "./single_value.ts";
import { FORMAT_VERSION } from "./table_metadata.ts";
import type { DataFile } from "./types.ts";

export const STATUS = { existing: 0, added: 1, deleted: 2 } as const;
const DATA_CONTENT = 0;
const DELETE_KINDS = new Map<number, DeleteContent["kind"]>([[1, "position"], [2, "equality"]]);

/** A data file with what other writers recorded of it, kept for when its manifest is merged. */
export interface ListedFile extends DataFile {
  readonly nanCounts: ReadonlyMap<number, number>;
  readonly keyMetadata: Uint8Array | undefined;
  /** Set for a delete file, which only manifests of deletes have. */
  readonly deletes?: DeleteContent;
}

/** What a delete file says of the rows that it deletes. */
export interface DeleteContent {
  /** `position`: by file and place; `equality`: by their values. */
  readonly kind: "position" | "equality";
  /** Field ids of the columns whose values are compared; none for positions. */
  readonly equalityIds: readonly number[];
  /** Location of the one data file that it is about; undefined: it does not say. */
  readonly dataLocation: string | undefined;
}

/** Sequence numbers are undefined only for an added entry before its commit. */
export interface ManifestEntry extends WantedEntry {
  readonly snapshotId: bigint;
  readonly file: ListedFile;
}

export interface ManifestHeader {
  readonly schema: SchemaJson;
  readonly specId: number;
  readonly day: DayField;
}

/** The Avro file of a manifest with these entries. */
export function encodeManifest(
  header: ManifestHeader,
  entries: readonly ManifestEntry[],
  options: { schema: TableSchema; sync: Uint8Array },
): Uint8Array<ArrayBuffer> {
  const { day } = header;
  const types = new Map(options.schema.columns.map((column) => [column.id, column.type]));
  assert(entries.every(({ file }) => file.deletes === undefined), "delete files are others'");
  const schema = manifestEntrySchema(day);
  const copied = copiedEntries(schema);
  const spec = [{
    "source-id": day.sourceId,
    "field-id": day.fieldId,
    name: day.name,
    transform: "day",
  }];
  return writeAvroFile(
    schema,
    entries.map((entry) => copied(entry) ?? entryRecord(entry, day, types)),
    {
      metadata: {
        schema: losslessJson(header.schema),
        "schema-id": String(header.schema["schema-id"]),
        "partition-spec": JSON.stringify(spec),
        "partition-spec-id": String(header.specId),
        "format-version": String(FORMAT_VERSION),
        content: "data",
      },
      sync: options.sync,
    },
  );
}

function entryRecord(
  entry: ManifestEntry,
  day: DayField,
  types: ReadonlyMap<number, ColumnType>,
): AvroRecord {
  const { file } = entry;
  return {
    ...headRecord(entry),
    data_file: {
      content: DATA_CONTENT,
      file_path: file.location,
      file_format: "PARQUET",
      partition: { [day.name]: file.day },
      record_count: BigInt(file.rows),
      file_size_in_bytes: BigInt(file.byteLength),
      column_sizes: counts(file.columnSizes),
      value_counts: counts(file.valueCounts),
      null_value_counts: counts(file.nullCounts),
      nan_value_counts: counts(file.nanCounts),
      lower_bounds: bounds(file.lowerBounds, types, shortenLowerBound),
      upper_bounds: bounds(file.upperBounds, types, shortenUpperBound),
      key_metadata: file.keyMetadata === undefined ? null : Buffer.from(file.keyMetadata),
      split_offsets: file.splitOffsets.length === 0 ? null : file.splitOffsets.map(BigInt),
      equality_ids: null,
      sort_order_id: file.sortOrderId,
    },
  };
}

function counts(map: ReadonlyMap<number, number>): AvroRecord[] | null {
  if (map.size === 0) return null;
  return byKey(map).map(([key, value]) => ({ key, value: BigInt(value) }));
}

function bounds(
  map: ReadonlyMap<number, Uint8Array>,
  types: ReadonlyMap<number, ColumnType>,
  shorten: (bytes: Uint8Array) => Uint8Array | undefined,
): AvroRecord[] | null {
  const records: AvroRecord[] = [];
  for (const [key, bytes] of byKey(map)) {
    const type = types.get(key);
    const value = type === "string" ? shorten(bytes) : bytes;
    if (value === undefined || (type === "double" && isNaNBound(value))) continue;
    records.push({ key, value: Buffer.from(value) });
  }
  return records.length === 0 ? null : records;
}

/** The specification allows no NaN as a bound. */
function isNaNBound(bytes: Uint8Array): boolean {
  return Number.isNaN(decodeSingleValue("double", bytes));
}

function byKey<T>(map: ReadonlyMap<number, T>): [number, T][] {
  return [...map].sort(([a], [b]) => a - b);
}

export interface DecodedManifest {
  /** Live entries: added and existing, none deleted. */
  readonly entries: readonly ManifestEntry[];
  readonly recordsBytes: number;
}

/**
 * Errors: `corrupt`, `unimplemented` for what is no Parquet data file or lies outside of the
 * warehouse.
 */
export function decodeManifest(
  bytes: Uint8Array,
  list: ManifestFile,
  options: { schema: TableSchema; day: DayField; locator: TableLocator },
): DecodedManifest {
  const avro = readAvroFile(bytes, list.location);
  const names = new FieldNames(avro.schema);
  const isOurs = avro.schemaText === JSON.stringify(manifestEntrySchema(options.day));
  const entries: ManifestEntry[] = [];
  for (const [at, record] of avro.records.entries()) {
    const head = headOf(names, record);
    const { status } = head;
    if (status === STATUS.deleted) continue;
    const entry = {
      status,
      snapshotId: head.snapshotId ?? list.addedSnapshotId,
      sequenceNumber: inherited(head.sequenceNumber, status, list),
      fileSequenceNumber: inherited(head.fileSequenceNumber, status, list),
      file: listedFile(names, names.record(record, 2, list.location), list, options),
    };
    const { schemaText } = avro;
    entries.push(
      isOurs
        ? { ...entry, encoded: encodedEntry(present(avro.encoded[at]), { schemaText, head }) }
        : entry,
    );
  }
  return { entries, recordsBytes: avro.recordsBytes };
}

function headOf(names: FieldNames, record: AvroRecord): EntryHead {
  return {
    status: names.number(record, 0) ?? STATUS.existing,
    snapshotId: names.long(record, 1),
    sequenceNumber: names.long(record, 3),
    fileSequenceNumber: names.long(record, 4),
  };
}

/** A version 1 manifest has no sequence numbers; the list then has 0. */
function inherited(own: bigint | undefined, status: number, list: ManifestFile): bigint {
  if (own !== undefined) return own;
  if (status === STATUS.added || list.sequenceNumber === 0n) return list.sequenceNumber;
  throw new OperatingError(
    "corrupt",
    `Cannot read ${list.location}: an existing entry has no sequence number of its own.`,
  );
}

function listedFile(
  names: FieldNames,
  record: AvroRecord,
  list: ManifestFile,
  options: { schema: TableSchema; day: DayField; locator: TableLocator },
): ListedFile {
  const location = names.text(record, 100) ?? "";
  const content = names.number(record, 134) ?? DATA_CONTENT;
  const kind = list.content === CONTENT.deletes ? DELETE_KINDS.get(content) : undefined;
  const isKnown = list.content === CONTENT.deletes ? !!kind : content === DATA_CONTENT;
  refuseOther(names.text(record, 101), { location, isKnown });
  const day = names.number(names.record(record, 102, list.location), options.day.fieldId);
  const lowerBounds = names.bounds(record, 125);
  const upperBounds = names.bounds(record, 128);
  const timestampNs = options.schema.columns.find(({ name }) => name === "timestamp_ns")?.id ?? -1;
  const rows = names.long(record, 103);
  const byteLength = names.long(record, 104);
  if (rows === undefined || byteLength === undefined || day === undefined) {
    throw new OperatingError(
      "corrupt",
      `Cannot read ${list.location}: the entry of ${location} lacks its record count, size or day.`,
    );
  }
  return {
    key: options.locator.keyOf(location),
    location,
    rows: Number(rows),
    byteLength: Number(byteLength),
    day,
    timestampNsMin: longBound(lowerBounds.get(timestampNs)),
    timestampNsMax: longBound(upperBounds.get(timestampNs)),
    lowerBounds,
    upperBounds,
    nullCounts: names.counts(record, 110),
    valueCounts: names.counts(record, 109),
    columnSizes: names.counts(record, 108),
    nanCounts: names.counts(record, 137),
    splitOffsets: names.longs(record, 132).map(Number),
    sortOrderId: names.number(record, 140) ?? 0,
    keyMetadata: names.bytes(record, 131),
    ...(kind === undefined ? {} : {
      deletes: {
        kind,
        equalityIds: names.longs(record, 135).map(Number),
        dataLocation: names.text(record, 143),
      },
    }),
  };
}

function refuseOther(
  format: string | undefined,
  { location, isKnown }: { readonly location: string; readonly isKnown: boolean },
): void {
  if (isKnown && format?.toUpperCase() === "PARQUET") return;
  const what = isKnown ? `its format is ${String(format)}` : "its content is none that is known";
  throw new OperatingError(
    "unimplemented",
    `Cannot read ${location}: ${what}; data files and delete files of format version 2 in Parquet ` +
      "are read. Rewrite the table's data files with the engine that wrote it.",
    { reason: "delete_files" },
  );
}

function longBound(bytes: Uint8Array | undefined): bigint | undefined {
  if (bytes === undefined) return undefined;
  const value = decodeSingleValue("long", bytes);
  assert(typeof value === "bigint");
  return value;
}
