/**
 * Writes a piece of a WAL segment as a Parquet file in the cache directory: made once, read by
 * statements, removed.
 */

import { completeOf } from "../../columns/batch.ts";
import { decodeBatch } from "../../columns/ipc.ts";
import type { FileSystem } from "../../os/file_system.ts";
import { writeWhole } from "../../os/write_whole.ts";
import { type ParquetFile, writeParquet } from "../../parquet/write_parquet.ts";
import type { Effort } from "../../parquet/writer/packing.ts";
import { completeIds } from "../../schema/promoted.ts";
import type { Column, TableSchema } from "../../schema/schema.ts";
import { fitTo } from "../../tables/fit_schema.ts";
import { liftPromoted } from "../../tables/lift_promoted.ts";
import type { WalFrame } from "../../wal/types.ts";
import { leaveOut, type NeededColumns } from "./left_out.ts";

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
  /** Field ids of the promoted columns that say all that the rows' attributes do. */
  readonly complete: ReadonlySet<number>;
  /** Which of `complete` have a value in each row. */
  readonly filled: ReadonlySet<number>;
  /** Columns of its rows that it lacks (`left_out.ts`). Absent: none. */
  readonly leftOut?: readonly Column[];
  readonly timestampNsMin: bigint;
  readonly timestampNsMax: bigint;
}

/** Rows of the WAL, as the messages of their frames. */
export interface DeltaRows {
  readonly columns: readonly Column[];
  readonly messages: readonly Uint8Array[];
  /** Promoted columns of the table that the rows' attributes fill. */
  readonly promoted: readonly Column[];
  /** Other columns may be left out; undefined: none. */
  readonly needed?: NeededColumns | undefined;
  readonly effort: Effort;
}

/** A Parquet file in memory, with what statements need to know of it. */
export type DeltaContent =
  & Pick<
    ParquetFile,
    "bytes" | "rows" | "columnSizes" | "lowerBounds" | "upperBounds"
  >
  & Pick<DeltaFile, "complete" | "filled" | "leftOut">;

/** Writes rows, which are at least one. Errors: `corrupt` for a bad message. */
export function encodeDelta(
  { columns, messages, promoted, needed, effort }: DeltaRows,
): DeltaContent {
  const sent: TableSchema = { columns, tags: [] };
  const whole = withColumns(sent, promoted);
  const [fit, lift] = [fitTo(whole, columns), liftPromoted(whole)];
  const lifted = messages.map((message) => lift(fit(decodeBatch(message, sent))));
  const complete = completeIds(completeOf(lifted).complete ?? 0n, whole);
  const { batches, schema, leftOut } = leaveOut(lifted, { schema: whole, complete, needed });
  const file = writeParquet(batches, { schema, effort });
  const { bytes, rows, lowerBounds, upperBounds, nullCounts } = file;
  const columnSizes = effort === "none" ? packedSizes(file) : file.columnSizes;
  return {
    ...{ bytes, rows, columnSizes, lowerBounds, upperBounds, complete, leftOut },
    filled: new Set([...complete].filter((id) => nullCounts.get(id) === 0)),
  };
}

/** The columns of a segment, and those of `promoted` that are no other column of its. */
function withColumns({ columns, tags }: TableSchema, promoted: readonly Column[]): TableSchema {
  const own = new Map(columns.map((column) => [column.name, column]));
  const ids = new Set(columns.map(({ id }) => id));
  const isKnown = ({ id, name, type }: Column) =>
    own.get(name)?.id === id && own.get(name)?.type === type;
  const added = promoted.filter(({ id, name }) => !own.has(name) && !ids.has(id));
  return {
    columns: [...columns, ...added],
    tags,
    promoted: [...added, ...promoted.filter(isKnown)].map(({ name }) => name),
  };
}

/**
 * Writes the rows of `frames`, which are at least one, to `path`. Errors: `corrupt` for a bad
 * message; those of the file system, as they are.
 */
export async function writeDeltaFile(
  files: Pick<FileSystem, "create" | "remove">,
  path: string,
  { frames, encode = encodeDelta, promoted = [], needed, ...how }:
    & Pick<DeltaRows, "columns" | "effort">
    & Partial<Pick<DeltaRows, "promoted" | "needed">>
    & {
      readonly frames: readonly WalFrame[];
      /** Default: on the caller's thread. */
      readonly encode?: ((rows: DeltaRows) => DeltaContent | Promise<DeltaContent>) | undefined;
    },
): Promise<DeltaFile> {
  const file = await encode({
    ...how,
    promoted,
    needed,
    messages: frames.map(({ message }) => message),
  });
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

const NONE: ReadonlySet<number> = new Set();

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
  files: Pick<FileSystem, "create" | "remove">,
  path: string,
  content: {
    /** Without `complete` and `filled`: no promoted column is. */
    readonly file: Omit<DeltaContent, "complete" | "filled"> & Partial<DeltaContent>;
    readonly times: readonly RowTimes[];
  },
): Promise<DeltaFile> {
  const { bytes, rows, columnSizes, lowerBounds, upperBounds } = content.file;
  const { complete = NONE, filled = NONE, leftOut = [] } = content.file;
  // The directory is emptied at start.
  await writeWhole(files, path, bytes);
  return {
    path,
    rows,
    byteLength: bytes.byteLength,
    columnSizes,
    lowerBounds,
    upperBounds,
    complete,
    filled,
    leftOut,
    timestampNsMin: content.times.map((one) => one.timestampNsMin).reduce((a, b) => a < b ? a : b),
    timestampNsMax: content.times.map((one) => one.timestampNsMax).reduce((a, b) => a > b ? a : b),
  };
}
