/**
 * Avro schemas of manifests and manifest lists: Iceberg table specification, "Manifests", "Manifest
 * Lists" and appendix A. Each row is (field id, name, type); ids are what readers go by.
 */

import type { AvroSchema } from "./avro_container.ts";

type Field = Readonly<Record<string, unknown>>;

/** The partition spec's only field: day(timestamp). */
export const DAY_FIELD_ID = 1000;
export const DAY_FIELD_NAME = "timestamp_day";

function required(id: number, name: string, type: AvroSchema): Field {
  return { name, type, "field-id": id };
}

function optional(id: number, name: string, type: AvroSchema): Field {
  return { name, type: ["null", type], default: null, "field-id": id };
}

function record(name: string, fields: readonly Field[]): AvroSchema {
  return { type: "record", name, fields };
}

function list(elementId: number, items: AvroSchema): AvroSchema {
  return { type: "array", items, "element-id": elementId };
}

/** A map whose keys are no strings is an array of key-value records. */
function intMap(keyId: number, valueId: number, value: AvroSchema): AvroSchema {
  return {
    type: "array",
    logicalType: "map",
    items: record(`k${keyId}_v${valueId}`, [
      required(keyId, "key", "int"),
      required(valueId, "value", value),
    ]),
  };
}

/** What an entry says before its data file. */
const ENTRY_HEAD = [
  required(0, "status", "int"),
  optional(1, "snapshot_id", "long"),
  optional(3, "sequence_number", "long"),
  optional(4, "file_sequence_number", "long"),
];

export const ENTRY_HEAD_SCHEMA = record("manifest_entry", ENTRY_HEAD);

/** `day` is the partition field that the manifest's spec has. */
export function manifestEntrySchema(day: { fieldId: number; name: string }): AvroSchema {
  const partition = record("r102", [
    optional(day.fieldId, day.name, { type: "int", logicalType: "date" }),
  ]);
  return record("manifest_entry", [
    ...ENTRY_HEAD,
    required(2, "data_file", dataFileSchema(partition)),
  ]);
}

function dataFileSchema(partition: AvroSchema): AvroSchema {
  return record("r2", [
    required(134, "content", "int"),
    required(100, "file_path", "string"),
    required(101, "file_format", "string"),
    required(102, "partition", partition),
    required(103, "record_count", "long"),
    required(104, "file_size_in_bytes", "long"),
    optional(108, "column_sizes", intMap(117, 118, "long")),
    optional(109, "value_counts", intMap(119, 120, "long")),
    optional(110, "null_value_counts", intMap(121, 122, "long")),
    optional(137, "nan_value_counts", intMap(138, 139, "long")),
    optional(125, "lower_bounds", intMap(126, 127, "bytes")),
    optional(128, "upper_bounds", intMap(129, 130, "bytes")),
    optional(131, "key_metadata", "bytes"),
    optional(132, "split_offsets", list(133, "long")),
    optional(135, "equality_ids", list(136, "int")),
    optional(140, "sort_order_id", "int"),
  ]);
}

const FIELD_SUMMARY = record("r508", [
  required(509, "contains_null", "boolean"),
  optional(518, "contains_nan", "boolean"),
  optional(510, "lower_bound", "bytes"),
  optional(511, "upper_bound", "bytes"),
]);

export const MANIFEST_FILE_SCHEMA = record("manifest_file", [
  required(500, "manifest_path", "string"),
  required(501, "manifest_length", "long"),
  required(502, "partition_spec_id", "int"),
  required(517, "content", "int"),
  required(515, "sequence_number", "long"),
  required(516, "min_sequence_number", "long"),
  required(503, "added_snapshot_id", "long"),
  required(504, "added_files_count", "int"),
  required(505, "existing_files_count", "int"),
  required(506, "deleted_files_count", "int"),
  required(512, "added_rows_count", "long"),
  required(513, "existing_rows_count", "long"),
  required(514, "deleted_rows_count", "long"),
  optional(507, "partitions", list(508, FIELD_SUMMARY)),
  optional(519, "key_metadata", "bytes"),
]);
