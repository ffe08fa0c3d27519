/**
 * Delete files as Spark and Flink write them, committed to a table of ours: positions of rows in a
 * data file, and values of rows.
 */

import { Buffer } from "node:buffer";
import { present } from "../base/assert.ts";
import { utf8 } from "../base/bytes.ts";
import { totalRows } from "../base/total_rows.ts";
import { batchOfRows, type RowObject } from "../columns/rows.ts";
import { writeAvroFile } from "../iceberg/avro_container.ts";
import { type CommitDeps, commitTable, readerOf } from "../iceberg/commit_table.ts";
import type { LoadedTable } from "../iceberg/iceberg_reader.ts";
import { losslessJson } from "../iceberg/lossless_json.ts";
import { CONTENT, type ManifestFile } from "../iceberg/manifest_list.ts";
import { manifestEntrySchema } from "../iceberg/manifest_schemas.ts";
import { dayFieldOf } from "../iceberg/partition.ts";
import { encodeSingleValue } from "../iceberg/single_value.ts";
import { newSnapshotIds, type SnapshotIds, stageSnapshot } from "../iceberg/stage_snapshot.ts";
import { DELETE_COLUMN_IDS } from "../iceberg/touched_files.ts";
import { uuidV4 } from "../os/random.ts";
import { writeParquet } from "../parquet/write_parquet.ts";
import { columnOf, type TableSchema } from "../schema/schema.ts";
import type { TableIdent } from "../tenant/tenant.ts";

/** What one delete file says; all of one day. */
export type NewDelete =
  | {
    readonly kind: "position";
    readonly day: number;
    /** Rows by location and place. */
    readonly rows: readonly { readonly location: string; readonly place: number }[];
    /** Whether its bounds tell the locations, as Java writes them. Default true. */
    readonly hasBounds?: boolean;
  }
  | {
    readonly kind: "equality";
    readonly day: number;
    readonly columns: readonly string[];
    readonly rows: readonly RowObject[];
  };

const POSITIONS: TableSchema = {
  columns: [
    { id: DELETE_COLUMN_IDS.path, name: "file_path", type: "string", required: true },
    { id: DELETE_COLUMN_IDS.position, name: "pos", type: "long", required: true },
  ],
  tags: [],
};

/** Commits delete files in one snapshot; their keys. */
export async function commitDeletes(
  given: CommitDeps,
  ident: TableIdent,
  deletes: readonly NewDelete[],
): Promise<string[]> {
  const deps = { ...given, reader: readerOf(given) };
  const keys: string[] = [];
  await commitTable(deps, ident, async (base, staging) => {
    const table = present(base, "a table");
    keys.length = 0;
    const written = [];
    for (const one of deletes) {
      const file = writtenDelete(table, one);
      const key = `${table.locationKey}/data/${uuidV4(deps.random)}-deletes.parquet`;
      await deps.store.putNew(key, file.bytes);
      keys.push(key);
      written.push({ one, ...file, location: `${deps.store.rootUri}/${key}` });
    }
    const ids = newSnapshotIds(deps, table.metadata);
    const bytes = deleteManifest(table, ids, written);
    const location = staging.put(
      `${table.locationKey}/metadata/${uuidV4(deps.random)}-m0.avro`,
      bytes,
    );
    const days = deletes.map(({ day }) => day);
    const rows = totalRows(written);
    const manifest: ManifestFile = {
      ...{ location, byteLength: bytes.byteLength, content: CONTENT.deletes },
      ...{ specId: table.metadata["default-spec-id"], addedSnapshotId: ids.snapshotId },
      ...{ sequenceNumber: ids.sequenceNumber, minSequenceNumber: ids.sequenceNumber },
      ...{ addedFiles: written.length, existingFiles: 0, deletedFiles: 0 },
      ...{ addedRows: BigInt(rows), existingRows: 0n, deletedRows: 0n },
      partitions: [{
        containsNull: false,
        containsNan: false,
        lowerBound: encodeSingleValue("int", Math.min(...days)),
        upperBound: encodeSingleValue("int", Math.max(...days)),
      }],
      keyMetadata: undefined,
    };
    const manifests = [manifest, ...await deps.reader.manifests(table)];
    const summary = { operation: "delete", "total-delete-files": String(written.length) };
    const snapshot = { ids, manifests, summary };
    const staged = stageSnapshot(deps, { table, exists: true }, { snapshot, staging });
    return { ...staged, consumed: [] };
  });
  return keys;
}

interface WrittenDelete {
  readonly one: NewDelete;
  readonly location: string;
  readonly bytes: Uint8Array;
  readonly rows: number;
}

function writtenDelete({ schema }: LoadedTable, one: NewDelete): {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly rows: number;
} {
  const own = one.kind === "position"
    ? POSITIONS
    : { columns: one.columns.map((name) => columnOf(schema, name)), tags: [] };
  const rows = one.kind === "position"
    ? one.rows.map(({ location, place }) => ({ file_path: location, pos: BigInt(place) }))
      .sort((a, b) => a.file_path < b.file_path ? -1 : a.file_path > b.file_path ? 1 : 0)
    : one.rows;
  const written = writeParquet([batchOfRows(own, rows)], { schema: own });
  return { bytes: new Uint8Array(written.bytes), rows: written.rows };
}

function deleteManifest(
  { metadata, schema, schemaId }: LoadedTable,
  { snapshotId }: SnapshotIds,
  files: readonly WrittenDelete[],
): Uint8Array<ArrayBuffer> {
  const spec = present(
    metadata["partition-specs"].find((one) => one["spec-id"] === metadata["default-spec-id"]),
  );
  const day = dayFieldOf(spec, schema, metadata.location);
  const records = files.map(({ one, location, bytes, rows }) => ({
    status: 1,
    snapshot_id: snapshotId,
    sequence_number: null,
    file_sequence_number: null,
    data_file: {
      content: one.kind === "position" ? 1 : 2,
      file_path: location,
      file_format: "PARQUET",
      partition: { [day.name]: one.day },
      record_count: BigInt(rows),
      file_size_in_bytes: BigInt(bytes.byteLength),
      column_sizes: null,
      value_counts: null,
      null_value_counts: null,
      nan_value_counts: null,
      lower_bounds: pathBound(one, "first"),
      upper_bounds: pathBound(one, "last"),
      key_metadata: null,
      split_offsets: null,
      equality_ids: one.kind === "position"
        ? null
        : one.columns.map((name) => columnOf(schema, name).id),
      sort_order_id: null,
    },
  }));
  return writeAvroFile(manifestEntrySchema(day), records, {
    metadata: {
      schema: losslessJson(metadata.schemas.find((one) => one["schema-id"] === schemaId)),
      "partition-spec-id": String(spec["spec-id"]),
      "format-version": "2",
      content: "deletes",
    },
    sync: new Uint8Array(16),
  });
}

function pathBound(one: NewDelete, which: "first" | "last") {
  if (one.kind === "equality" || one.hasBounds === false) return null;
  const paths = one.rows.map(({ location }) => location).sort();
  const path = present(paths.at(which === "first" ? 0 : -1));
  return [{ key: DELETE_COLUMN_IDS.path, value: Buffer.from(utf8(path)) }];
}
