/**
 * Writes a piece of a WAL segment as a Parquet file in the cache directory: made once, read by
 * statements, removed.
 */

import type { Column, TableSchema } from "../../schema/schema.ts";
import { decodeBatch } from "../../columns/ipc.ts";
import type { FileSystem } from "../../os/file_system.ts";
import { type ParquetFile, writeParquet } from "../../parquet/write_parquet.ts";
import type { Effort } from "../../parquet/writer/packing.ts";
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

/** Rows of the WAL, as the messages of their frames. */
export interface DeltaRows {
  readonly columns: readonly Column[];
  readonly messages: readonly Uint8Array[];
  readonly effort: Effort;
}

/** A Parquet file in memory, with what statements need to know of it. */
export type DeltaContent = Pick<
  ParquetFile,
  "bytes" | "rows" | "columnSizes" | "lowerBounds" | "upperBounds"
>;

/** Writes rows, which are at least one. Errors: `corrupt` for a bad message. */
export function encodeDelta({ columns, messages, effort }: DeltaRows): DeltaContent {
  const schema: TableSchema = { columns, tags: [] };
  const batches = messages.map((message) => decodeBatch(message, schema));
  const file = writeParquet(batches, { schema, effort });
  const { bytes, rows, lowerBounds, upperBounds } = file;
  const columnSizes = effort === "none" ? packedSizes(file) : file.columnSizes;
  return { bytes, rows, columnSizes, lowerBounds, upperBounds };
}

/**
 * Writes the rows of `frames`, which are at least one, to `path`. Errors: `corrupt` for a bad
 * message; those of the file system, as they are.
 */
export async function writeDeltaFile(
  files: Pick<FileSystem, "create">,
  path: string,
  { frames, encode = encodeDelta, ...how }: Pick<DeltaRows, "columns" | "effort"> & {
    readonly frames: readonly WalFrame[];
    /** Default: on the caller's thread. */
    readonly encode?: ((rows: DeltaRows) => DeltaContent | Promise<DeltaContent>) | undefined;
  },
): Promise<DeltaFile> {
  const file = await encode({ ...how, messages: frames.map(({ message }) => message) });
  return await placeDeltaFile(files, path, { file, times: frames });
}

/**
 * What a file without compression would leave of its bytes with it, about: LZ4 left 144 of 481
 * bytes of a row. Prices and limits are of compressed bytes, as in data files.
 */
const PACKED_SHARE = 0.3;

function packedSizes({ columnSizes }: ParquetFile): ReadonlyMap<number, number> {
  return new Map(columnSizes.entries().map(([id, bytes]) => [id, Math.ceil(PACKED_SHARE * bytes)]));
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
  content: { readonly file: DeltaContent; readonly times: readonly RowTimes[] },
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
