/**
 * Writes a piece of a WAL segment as a Parquet file in the cache directory: made once, read by
 * statements, removed.
 */

import type { Column, TableSchema } from "../../schema/schema.ts";
import { decodeBatch } from "../../columns/ipc.ts";
import type { FileSystem } from "../../os/file_system.ts";
import { writeParquet } from "../../parquet/write_parquet.ts";
import type { WalFrame } from "../../wal/types.ts";

/**
 * A Parquet file with rows of the WAL. Sizes are in bytes, by field id; times are Unix nanoseconds,
 * both inclusive.
 */
export interface DeltaFile {
  readonly path: string;
  readonly rows: number;
  readonly byteLength: number;
  readonly columnSizes: ReadonlyMap<number, number>;
  /** Bounds by field id, in Iceberg's single-value serialization. */
  readonly lowerBounds: ReadonlyMap<number, Uint8Array>;
  readonly upperBounds: ReadonlyMap<number, Uint8Array>;
  readonly timestampNsMin: bigint;
  readonly timestampNsMax: bigint;
}

/**
 * Writes the rows of `frames`, which are at least one, to `path`. Errors: `corrupt` for a bad
 * message; those of the file system, as they are.
 */
export async function writeDeltaFile(
  files: Pick<FileSystem, "create">,
  path: string,
  content: { readonly columns: readonly Column[]; readonly frames: readonly WalFrame[] },
): Promise<DeltaFile> {
  const schema: TableSchema = { columns: content.columns, tags: [] };
  const batches = content.frames.map((frame) => decodeBatch(frame.message, schema));
  const written = writeParquet(batches, { schema, compression: "lz4_raw" });
  {
    // The file is neither synced nor renamed: the directory is emptied at start, and nobody reads
    // before this returns.
    await using file = await files.create(path);
    await file.write(written.bytes);
  }
  return {
    path,
    rows: written.rows,
    byteLength: written.bytes.byteLength,
    columnSizes: written.columnSizes,
    lowerBounds: written.lowerBounds,
    upperBounds: written.upperBounds,
    timestampNsMin: content.frames.map((frame) => frame.timestampNsMin).reduce((a, b) =>
      a < b ? a : b
    ),
    timestampNsMax: content.frames.map((frame) => frame.timestampNsMax).reduce((a, b) =>
      a > b ? a : b
    ),
  };
}
