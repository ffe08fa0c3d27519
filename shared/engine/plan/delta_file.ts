/**
 * Writes a piece of a WAL segment as a Parquet file in the cache directory: made once, read by
 * statements, removed. The writer is loaded with the first of them: it is WASM, of 5 MB.
 */

import type { Column, TableSchema } from "../../schema/schema.ts";
import { decodeBatch } from "../../columns/ipc.ts";
import type { FileSystem } from "../../os/file_system.ts";
import type { ParquetFile } from "../../parquet/write_parquet.ts";
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
  const { writeParquet } = await import("../../parquet/write_parquet.ts");
  const written = writeParquet(batches, { schema, compression: "lz4_raw" });
  return await placeDeltaFile(files, path, { file: written, times: content.frames });
}

/** Times of rows, in Unix nanoseconds, both inclusive. */
interface RowTimes {
  readonly timestampNsMin: bigint;
  readonly timestampNsMax: bigint;
}

/**
 * Writes a Parquet file to `path`, and tells statements what they need to know of it. `times` are
 * of its parts. Errors: those of the file system, as they are.
 */
export async function placeDeltaFile(
  files: Pick<FileSystem, "create">,
  path: string,
  content: { readonly file: ParquetFile; readonly times: readonly RowTimes[] },
): Promise<DeltaFile> {
  const { bytes, rows, columnSizes, lowerBounds, upperBounds } = content.file;
  {
    // The file is neither synced nor renamed: the directory is emptied at start, and nobody reads
    // before this returns.
    await using file = await files.create(path);
    await file.write(bytes);
  }
  return {
    path,
    rows,
    byteLength: bytes.byteLength,
    columnSizes,
    lowerBounds,
    upperBounds,
    timestampNsMin: content.times.map((one) => one.timestampNsMin).reduce((a, b) => a < b ? a : b),
    timestampNsMax: content.times.map((one) => one.timestampNsMax).reduce((a, b) => a > b ? a : b),
  };
}
