/**
 * Table metadata, format version 2, as JSON: Iceberg table specification, "Table Metadata" and
 * appendix C.
 *
 * Ids and sequence numbers are `bigint`, times Unix milliseconds. Members that this program does
 * not know are kept and written back. Parsing is the boundary: what comes out has the stated types.
 */

import { gunzipSync } from "node:zlib";
import { z } from "zod";
import { messageOf, OperatingError } from "../base/errors.ts";
import { textOf, utf8 } from "../base/bytes.ts";
import { losslessJson, parseLosslessJson } from "./lossless_json.ts";
import { SCHEMA_JSON } from "./schema_json.ts";

export const FORMAT_VERSION = 2;
/** Metadata that inflates to more is refused. */
const METADATA_BYTES_MAX = 256 * 1024 * 1024;

const LONG = z.union([z.int(), z.bigint()]).transform((value) => BigInt(value));

const PARTITION_FIELD = z.looseObject({
  "source-id": z.int(),
  "field-id": z.int(),
  name: z.string(),
  transform: z.string(),
});

const PARTITION_SPEC = z.looseObject({ "spec-id": z.int(), fields: z.array(PARTITION_FIELD) });

const SORT_ORDER = z.looseObject({
  "order-id": z.int(),
  fields: z.array(z.looseObject({
    transform: z.string(),
    "source-id": z.int().optional(),
    direction: z.string(),
    "null-order": z.string(),
  })),
});

const SNAPSHOT = z.looseObject({
  "snapshot-id": LONG,
  "parent-snapshot-id": LONG.nullish(),
  "sequence-number": LONG.default(0n),
  "timestamp-ms": z.int(),
  "manifest-list": z.string().optional(),
  summary: z.record(z.string(), z.string()).optional(),
  "schema-id": z.int().nullish(),
});

const TABLE_METADATA = z.looseObject({
  "format-version": z.literal(FORMAT_VERSION),
  "table-uuid": z.string(),
  location: z.string(),
  "last-sequence-number": LONG,
  "last-updated-ms": z.int(),
  "last-column-id": z.int(),
  schemas: z.array(SCHEMA_JSON),
  "current-schema-id": z.int(),
  "partition-specs": z.array(PARTITION_SPEC),
  "default-spec-id": z.int(),
  "last-partition-id": z.int(),
  properties: z.record(z.string(), z.string()).default({}),
  "current-snapshot-id": LONG.nullish(),
  snapshots: z.array(SNAPSHOT).default([]),
  "snapshot-log": z.array(z.looseObject({ "timestamp-ms": z.int(), "snapshot-id": LONG }))
    .default([]),
  "metadata-log": z.array(z.looseObject({ "timestamp-ms": z.int(), "metadata-file": z.string() }))
    .default([]),
  "sort-orders": z.array(SORT_ORDER),
  "default-sort-order-id": z.int(),
  refs: z.record(z.string(), z.looseObject({ "snapshot-id": LONG, type: z.string() })).default({}),
});

export type TableMetadata = z.infer<typeof TABLE_METADATA>;
export type Snapshot = z.infer<typeof SNAPSHOT>;
export type PartitionSpec = z.infer<typeof PARTITION_SPEC>;

/** `name` is for messages. Errors: `corrupt`, `unimplemented` for another format version. */
export function parseTableMetadata(bytes: Uint8Array, name: string): TableMetadata {
  let json: unknown;
  try {
    json = parseLosslessJson(textOf(inflated(bytes)));
  } catch (cause) {
    throw new OperatingError(
      "corrupt",
      `Cannot read table metadata ${name}: ${messageOf(cause)}. Restore the file from a copy.`,
      { cause },
    );
  }
  refuseOtherVersion(json, name);
  const parsed = TABLE_METADATA.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new OperatingError(
    "corrupt",
    `Cannot read table metadata ${name}: ${z.prettifyError(parsed.error)}`,
  );
}

/** The bytes of a metadata file. */
export function encodeTableMetadata(metadata: TableMetadata): Uint8Array<ArrayBuffer> {
  return utf8(losslessJson(metadata));
}

/** The snapshot that readers of the table see; undefined before the first commit. */
export function currentSnapshot(metadata: TableMetadata): Snapshot | undefined {
  const id = metadata["current-snapshot-id"];
  // Java writes -1 for "none" in version 2.
  if (id === undefined || id === null || id === -1n) return undefined;
  const snapshot = metadata.snapshots.find((candidate) => candidate["snapshot-id"] === id);
  if (snapshot !== undefined) return snapshot;
  throw new OperatingError(
    "corrupt",
    `Cannot read table ${metadata.location}: its current snapshot ${id} is not among its snapshots.`,
  );
}

function inflated(bytes: Uint8Array): Uint8Array {
  const gzipped = bytes[0] === 0x1f && bytes[1] === 0x8b;
  return gzipped ? gunzipSync(bytes, { maxOutputLength: METADATA_BYTES_MAX }) : bytes;
}

function refuseOtherVersion(json: unknown, name: string): void {
  const version = (json as { "format-version"?: unknown } | null)?.["format-version"];
  if (version === FORMAT_VERSION) return;
  throw new OperatingError(
    "unimplemented",
    `Cannot read table metadata ${name}: its format-version is ${
      String(version)
    }, this program reads ` +
      `${FORMAT_VERSION}. Recreate the table, or upgrade it to version ${FORMAT_VERSION} with the engine that wrote it.`,
    { reason: "format_version" },
  );
}
