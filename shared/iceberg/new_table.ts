/**
 * Metadata of a table without rows: partitioned by day(timestamp), sorted by (timestamp,
 * timestamp_ns).
 */

import { FILES_ALONE_ID_LAST } from "../schema/row_words.ts";
import { columnOf, type TableSchema } from "../schema/schema.ts";
import { DAY_FIELD_ID, DAY_FIELD_NAME } from "./manifest_schemas.ts";
import { nameMappingOf, schemaJsonOf } from "./schema_json.ts";
import { FORMAT_VERSION, type TableMetadata } from "./table_metadata.ts";

/** Version of the built-in tables' columns, written as the property of that name. */
export const SCHEMA_VERSION = 1;
export const SCHEMA_VERSION_PROPERTY = "svc.schema-version";
/** Table property: JSON array with the names of the promoted columns. */
export const PROMOTED_PROPERTY = "svc.promoted";
/** Table property: JSON array with the names of the tag columns. */
export const TAGS_PROPERTY = "svc.tags";
/**
 * What other engines must know to read our files. Spark's vectorized reader takes no DELTA
 * encodings and fails on them, so the table asks for its reader of rows.
 */
export const READER_PROPERTIES: Readonly<Record<string, string>> = {
  "read.parquet.vectorization.enabled": "false",
};
/** Earlier metadata files kept after a commit, for readers that had just read the pointer. */
export const PREVIOUS_VERSIONS_MAX = 10;

const FIRST_SCHEMA_ID = 0;
const SPEC_ID = 0;
const SORT_ORDER_ID = 1;

export interface NewTableParts {
  readonly schema: TableSchema;
  readonly uuid: string;
  /** Absolute location, without a trailing slash. */
  readonly location: string;
  readonly nowMs: number;
}

/** The first metadata of a table, without a snapshot. */
export function createTableMetadata(parts: NewTableParts): TableMetadata {
  const { schema } = parts;
  const timestamp = columnOf(schema, "timestamp").id;
  const timestampNs = columnOf(schema, "timestamp_ns").id;
  return {
    "format-version": FORMAT_VERSION,
    "table-uuid": parts.uuid,
    location: parts.location,
    "last-sequence-number": 0n,
    "last-updated-ms": parts.nowMs,
    "last-column-id": Math.max(FILES_ALONE_ID_LAST, ...schema.columns.map(({ id }) => id)),
    schemas: [schemaJsonOf(schema, FIRST_SCHEMA_ID)],
    "current-schema-id": FIRST_SCHEMA_ID,
    "partition-specs": [{
      "spec-id": SPEC_ID,
      fields: [{
        "source-id": timestamp,
        "field-id": DAY_FIELD_ID,
        name: DAY_FIELD_NAME,
        transform: "day",
      }],
    }],
    "default-spec-id": SPEC_ID,
    "last-partition-id": DAY_FIELD_ID,
    properties: {
      ...READER_PROPERTIES,
      "schema.name-mapping.default": nameMappingOf(schema),
      "write.format.default": "parquet",
      "write.parquet.compression-codec": "zstd",
      "write.metadata.delete-after-commit.enabled": "true",
      "write.metadata.previous-versions-max": String(PREVIOUS_VERSIONS_MAX),
      [TAGS_PROPERTY]: JSON.stringify(schema.tags),
      [SCHEMA_VERSION_PROPERTY]: String(SCHEMA_VERSION),
    },
    snapshots: [],
    "snapshot-log": [],
    "metadata-log": [],
    "sort-orders": [{
      "order-id": SORT_ORDER_ID,
      fields: [timestamp, timestampNs].map((source) => ({
        transform: "identity",
        "source-id": source,
        direction: "asc",
        "null-order": "nulls-first",
      })),
    }],
    "default-sort-order-id": SORT_ORDER_ID,
    refs: {},
  };
}
