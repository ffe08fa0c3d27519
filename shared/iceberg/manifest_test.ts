import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { avroMetadata } from "icebird/src/avro/avro.metadata.js";
import { avroRead } from "icebird/src/avro/avro.read.js";
import { textOf, utf8 } from "../base/bytes.ts";
import { isOperatingError } from "../base/errors.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { type AvroRecord, readAvroFile, writeAvroFile } from "./avro_container.ts";
import { TableLocator } from "./locations.ts";
import { decodeManifest, encodeManifest, type ManifestEntry, STATUS } from "./manifest.ts";
import {
  CONTENT,
  decodeManifestList,
  encodeManifestList,
  type ManifestFile,
} from "./manifest_list.ts";
import { schemaJsonOf } from "./schema_json.ts";
import { encodeSingleValue } from "./single_value.ts";

const ROOT = "file:///wh";
const KEY = "svc/events-0/data/timestamp_day=2025-11-20/u.parquet";
const DAY = { sourceId: 1, fieldId: 1000, name: "timestamp_day" };
const SYNC = new Uint8Array(16);
const SNAPSHOT = 0x7fff_ffff_ffff_fff1n;
const LONG_TEXT = "z".repeat(40);

const ADDED: ManifestEntry = {
  status: STATUS.added,
  snapshotId: SNAPSHOT,
  sequenceNumber: undefined,
  fileSequenceNumber: undefined,
  file: {
    key: KEY,
    location: `${ROOT}/${KEY}`,
    rows: 12,
    byteLength: 3_456,
    day: 20_412,
    timestampNsMin: 1_763_596_800_000_000_001n,
    timestampNsMax: 1_763_596_800_000_000_999n,
    lowerBounds: new Map([
      [7, utf8(LONG_TEXT)],
      [2, encodeSingleValue("long", 1_763_596_800_000_000_001n)],
    ]),
    upperBounds: new Map([
      [2, encodeSingleValue("long", 1_763_596_800_000_000_999n)],
      [7, utf8(LONG_TEXT)],
    ]),
    nullCounts: new Map([[8, 3]]),
    valueCounts: new Map([[8, 12]]),
    columnSizes: new Map([[8, 345]]),
    nanCounts: new Map([[9, 1]]),
    splitOffsets: [4, 2_000],
    sortOrderId: 1,
    keyMetadata: Uint8Array.of(1, 2),
  },
};
const EXISTING: ManifestEntry = {
  ...ADDED,
  status: STATUS.existing,
  snapshotId: 5n,
  sequenceNumber: 2n,
  fileSequenceNumber: 3n,
};
const LIST: ManifestFile = {
  location: `${ROOT}/svc/events-0/metadata/m0.avro`,
  byteLength: 4_000,
  specId: 0,
  content: CONTENT.data,
  sequenceNumber: 9n,
  minSequenceNumber: 2n,
  addedSnapshotId: SNAPSHOT,
  addedFiles: 1,
  existingFiles: 1,
  deletedFiles: 0,
  addedRows: 12n,
  existingRows: 12n,
  deletedRows: 0n,
  partitions: [{
    containsNull: false,
    containsNan: false,
    lowerBound: encodeSingleValue("int", 20_412),
    upperBound: encodeSingleValue("int", 20_413),
  }],
  keyMetadata: undefined,
};
const SCHEMA_JSON = schemaJsonOf(EVENTS_SCHEMA, 4);
const CONTEXT = {
  schema: EVENTS_SCHEMA,
  day: DAY,
  locator: new TableLocator(ROOT, `${ROOT}/svc/events-0`, "svc/events-0/metadata/x"),
};

function encoded(entries: readonly ManifestEntry[]): Uint8Array<ArrayBuffer> {
  return encodeManifest({ schema: SCHEMA_JSON, specId: 0, day: DAY }, entries, {
    schema: EVENTS_SCHEMA,
    sync: SYNC,
  });
}

// deno-lint-ignore no-explicit-any -- the other implementation has no types for records
function independently(bytes: Uint8Array<ArrayBuffer>): { metadata: any; records: any[] } {
  const reader = { view: new DataView(bytes.buffer), offset: 0 };
  const { metadata, syncMarker } = avroMetadata(reader);
  return { metadata, records: avroRead({ reader, metadata, syncMarker }) };
}

Deno.test({
  name: "encodeManifest writes the header keys that version 2 requires",
  fn() {
    const { metadata } = independently(encoded([ADDED]));
    assert.deepEqual(metadata.schema, JSON.parse(JSON.stringify(SCHEMA_JSON)));
    assert.deepEqual(JSON.parse(metadata["partition-spec"]), [
      { "source-id": 1, "field-id": 1000, name: "timestamp_day", transform: "day" },
    ]);
    const { "schema-id": schemaId, "partition-spec-id": specId, "format-version": version } =
      metadata;
    assert.deepEqual([schemaId, specId, version, metadata.content], ["4", "0", "2", "data"]);
  },
});

/**
 * Field ids and names of the specification's tables "Manifest Entry Fields" and "Data File Fields".
 */
const SPECIFIED: readonly [id: number, name: string, required: boolean][] = [
  [0, "status", true],
  [1, "snapshot_id", false],
  [3, "sequence_number", false],
  [4, "file_sequence_number", false],
  [2, "data_file", true],
  [134, "content", true],
  [100, "file_path", true],
  [101, "file_format", true],
  [102, "partition", true],
  [103, "record_count", true],
  [104, "file_size_in_bytes", true],
  [108, "column_sizes", false],
  [109, "value_counts", false],
  [110, "null_value_counts", false],
  [137, "nan_value_counts", false],
  [125, "lower_bounds", false],
  [128, "upper_bounds", false],
  [131, "key_metadata", false],
  [132, "split_offsets", false],
  [135, "equality_ids", false],
  [140, "sort_order_id", false],
];

Deno.test({
  name: "encodeManifest declares each field of the specification with its id and optionality",
  fn() {
    const { metadata } = independently(encoded([ADDED]));
    const entry = metadata["avro.schema"].fields;
    const file = entry.find((field: { name: string }) => field.name === "data_file").type.fields;
    const declared = [...entry, ...file].map((field) => [
      field["field-id"],
      field.name,
      !(Array.isArray(field.type) && field.type[0] === "null" && field.default === null),
    ]);
    assert.deepEqual(declared, SPECIFIED);
    const partition = file.find((field: { name: string }) => field.name === "partition").type;
    assert.deepEqual(partition.fields, [{
      name: "timestamp_day",
      type: ["null", { type: "int", logicalType: "date" }],
      default: null,
      "field-id": 1000,
    }]);
  },
});

Deno.test({
  name: "encodeManifest writes values that another implementation reads",
  fn() {
    const [added, existing] = independently(encoded([ADDED, EXISTING])).records;
    const ids = (entry: typeof added) => [
      entry.status,
      entry.snapshot_id,
      entry.sequence_number,
      entry.file_sequence_number,
    ];
    assert.deepEqual(ids(added), [1, SNAPSHOT, undefined, undefined]);
    assert.deepEqual(ids(existing), [0, 5n, 2n, 3n]);
    const file = added.data_file;
    assert.equal(file.content, 0);
    assert.equal(file.file_path, "file:///wh/svc/events-0/data/timestamp_day=2025-11-20/u.parquet");
    assert.equal(file.file_format, "PARQUET");
    assert.equal(file.partition.timestamp_day.toISOString(), "2025-11-20T00:00:00.000Z");
    assert.deepEqual([file.record_count, file.file_size_in_bytes], [12n, 3_456n]);
    assert.deepEqual(file.null_value_counts, [{ key: 8, value: 3n }]);
    assert.deepEqual(file.split_offsets, [4n, 2_000n]);
    assert.deepEqual([file.sort_order_id, file.equality_ids], [1, undefined]);
    const lower = new Map<number, Uint8Array>(
      file.lower_bounds.map((
        bound: { key: number; value: Uint8Array },
      ) => [bound.key, bound.value]),
    );
    assert.deepEqual([...lower.keys()], [2, 7]);
    assert.equal(textOf(lower.get(7) ?? new Uint8Array()), "z".repeat(16));
    assert.equal(textOf(file.upper_bounds[1].value), "z".repeat(15) + "{");
  },
});

Deno.test({
  name: "decodeManifest gives back entries, with sequence numbers inherited by added ones",
  fn() {
    const bytes = encoded([ADDED, EXISTING]);
    const { entries } = decodeManifest(bytes, LIST, CONTEXT);
    const shortened = {
      ...ADDED.file,
      lowerBounds: new Map([...ADDED.file.lowerBounds, [7, utf8("z".repeat(16))]]),
      upperBounds: new Map([...ADDED.file.upperBounds, [7, utf8("z".repeat(15) + "{")]]),
    };
    assert.deepEqual(entries.map(({ encoded: _, ...entry }) => entry), [
      { ...ADDED, sequenceNumber: 9n, fileSequenceNumber: 9n, file: shortened },
      { ...EXISTING, file: shortened },
    ]);
  },
});

Deno.test({
  name: "encodeManifest leaves out bounds that are NaN",
  fn() {
    const doubles = { id: 9, name: "ratio", type: "double", required: false } as const;
    const schema = { ...EVENTS_SCHEMA, columns: [...EVENTS_SCHEMA.columns, doubles] };
    const file = {
      ...ADDED.file,
      lowerBounds: new Map([[9, encodeSingleValue("double", 1.5)]]),
      upperBounds: new Map([[9, encodeSingleValue("double", NaN)]]),
    };
    const header = { schema: schemaJsonOf(schema, 4), specId: 0, day: DAY };
    const bytes = encodeManifest(header, [{ ...ADDED, file }], { schema, sync: SYNC });
    const { lower_bounds, upper_bounds } = independently(bytes).records[0].data_file;
    assert.equal(lower_bounds.length, 1);
    assert.equal(upper_bounds, undefined);
  },
});

/** The manifest of `entry` with its Avro record changed: what another writer could have written. */
function foreign(change: (record: AvroRecord, file: AvroRecord) => void): Uint8Array<ArrayBuffer> {
  const { schema, records } = readAvroFile(encoded([EXISTING]), "own");
  const record = { ...records[0] };
  const file = { ...record.data_file as AvroRecord };
  change(record, file);
  return writeAvroFile(schema, [{ ...record, data_file: file }], { metadata: {}, sync: SYNC });
}

/** Bounds as no writer of ours makes them: long, out of order, and of columns that nobody knows. */
const STRANGE_BOUNDS = [[70, LONG_TEXT], [7, LONG_TEXT]].map(([key, value]) => ({
  key,
  value: Buffer.from(String(value)),
}));

Deno.test({
  name:
    "encodeManifest copies the data file of an entry that goes on, and writes anew what is before",
  fn() {
    const before = foreign((_, file) => file.upper_bounds = STRANGE_BOUNDS);
    const [entry] = decodeManifest(before, LIST, CONTEXT).entries;
    assert.ok(entry !== undefined);
    const longest = { snapshotId: 2n ** 63n - 1n, sequenceNumber: 2n ** 40n };
    const entries = [
      { ...entry, status: STATUS.deleted },
      { ...entry, ...longest },
      { ...entry, fileSequenceNumber: 0n },
      { ...entry, sequenceNumber: undefined, fileSequenceNumber: undefined },
      ADDED,
      entry,
    ];
    const { records } = independently(encoded(entries));
    const [file] = independently(before).records.map(({ data_file }) => data_file);
    assert.equal(textOf(file.upper_bounds[0].value), LONG_TEXT);
    const others = records.filter((_, at) => at !== 4);
    assert.deepEqual(others.map(({ data_file }) => data_file), Array(5).fill(file));
    const heads = records.map((record) => [
      record.status,
      record.snapshot_id,
      record.sequence_number,
      record.file_sequence_number,
    ]);
    assert.deepEqual(heads, [
      [STATUS.deleted, 5n, 2n, 3n],
      [STATUS.existing, longest.snapshotId, longest.sequenceNumber, 3n],
      [STATUS.existing, 5n, 2n, 0n],
      [STATUS.existing, 5n, undefined, undefined],
      [STATUS.added, SNAPSHOT, undefined, undefined],
      [STATUS.existing, 5n, 2n, 3n],
    ]);
    // Once more, of a manifest that was made of copies.
    const again = decodeManifest(encoded([entry]), LIST, CONTEXT).entries;
    assert.deepEqual(again, [entry]);
    assert.deepEqual(independently(encoded(again)).records[0].data_file, file);
  },
});

Deno.test({
  name: "encodeManifest copies nothing of a manifest that has another schema",
  fn() {
    const { schema, records } = readAvroFile(encoded([EXISTING]), "own");
    const renamed = JSON.parse(JSON.stringify(schema).replace("timestamp_day", "day_of_it"));
    const [record] = records;
    const file = record?.data_file as AvroRecord;
    const partition = { day_of_it: (file.partition as AvroRecord).timestamp_day };
    const other = { ...record, data_file: { ...file, partition } };
    const bytes = writeAvroFile(renamed, [other], { metadata: {}, sync: SYNC });
    const context = { ...CONTEXT, day: { ...DAY, name: "day_of_it" } };
    // The day's field is found by its other name, and by an id that both have.
    for (const named of [context, CONTEXT]) {
      const [entry] = decodeManifest(bytes, LIST, named).entries;
      assert.ok(entry !== undefined);
      const rewritten = independently(encoded([entry])).records[0];
      assert.deepEqual(rewritten, independently(encoded([EXISTING])).records[0]);
    }
  },
});

Deno.test({
  name: "decodeManifest leaves out deleted entries and refuses what it would read wrongly",
  fn() {
    const deleted = foreign((record) => record.status = STATUS.deleted);
    assert.deepEqual(decodeManifest(deleted, LIST, CONTEXT).entries, []);
    const cases: [bytes: Uint8Array, code: string, says: RegExp][] = [
      [
        foreign((_, file) => file.content = 1),
        "unimplemented",
        /Cannot read file:\/\/\/wh.*u\.parq.*its content/,
      ],
      [foreign((_, file) => file.content = 2), "unimplemented", /its content/],
      [foreign((_, file) => file.file_format = "ORC"), "unimplemented", /ORC/],
      [foreign((_, file) => file.file_path = "s3://other/x"), "unimplemented", /s3:\/\/other/],
      [foreign((record) => record.sequence_number = null), "corrupt", /sequence number/],
      [foreign((_, file) => file.partition = { timestamp_day: null }), "corrupt", /day/],
    ];
    for (const [bytes, code, says] of cases) {
      assert.throws(
        () => decodeManifest(bytes, LIST, CONTEXT),
        (error) => isOperatingError(error) && error.code === code && says.test(error.message),
      );
    }
  },
});

Deno.test({
  name:
    "encodeManifestList writes what another implementation reads and decodeManifestList gives back",
  fn() {
    const header = { snapshotId: SNAPSHOT, parentSnapshotId: undefined, sequenceNumber: 9n };
    const bytes = encodeManifestList(header, [LIST], SYNC);
    assert.deepEqual(decodeManifestList(bytes, "list"), [LIST]);
    const { metadata, records } = independently(bytes);
    assert.equal(metadata["format-version"], "2");
    assert.equal(metadata["snapshot-id"], String(SNAPSHOT));
    const ids = metadata["avro.schema"].fields.map((field: AvroRecord) => field["field-id"]);
    assert.deepEqual(
      ids,
      [500, 501, 502, 517, 515, 516, 503, 504, 505, 506, 512, 513, 514, 507, 519],
    );
    const { partitions, key_metadata: _, ...numbers } = records[0];
    assert.deepEqual(numbers, {
      manifest_path: "file:///wh/svc/events-0/metadata/m0.avro",
      manifest_length: 4_000n,
      partition_spec_id: 0,
      content: 0,
      sequence_number: 9n,
      min_sequence_number: 2n,
      added_snapshot_id: SNAPSHOT,
      added_files_count: 1,
      existing_files_count: 1,
      deleted_files_count: 0,
      added_rows_count: 12n,
      existing_rows_count: 12n,
      deleted_rows_count: 0n,
    });
    assert.deepEqual([...partitions[0].lower_bound], [0xbc, 0x4f, 0, 0]);
    assert.deepEqual([partitions[0].contains_null, partitions[0].contains_nan], [false, false]);
  },
});

Deno.test({
  name: "decodeManifestList goes by field ids: older writers' names are understood",
  fn() {
    const header = { snapshotId: 1n, parentSnapshotId: 7n, sequenceNumber: 9n };
    const own = readAvroFile(encodeManifestList(header, [LIST], SYNC), "own");
    const renamed = JSON.parse(
      JSON.stringify(own.schema).replace("added_files_count", "added_data_files_count"),
    );
    const records = own.records.map(({ added_files_count, ...record }) => ({
      ...record,
      added_data_files_count: added_files_count,
    }));
    const bytes = writeAvroFile(renamed, records, { metadata: {}, sync: SYNC });
    assert.deepEqual(decodeManifestList(bytes, "list"), [LIST]);
  },
});
