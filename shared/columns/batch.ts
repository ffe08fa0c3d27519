/**
 * Rows as columns: the form every row has between the socket and the data file. A batch is one set
 * of Arrow buffers per column; there is never an object per row.
 *
 * Layout per column (Arrow's):
 * - `validity` is a little-endian bitmap, absent when nothing is null.
 * - `string` has `offsets` of rows + 1 and its UTF-8 in `values`.
 * - `timestamptz` and `long` hold 8-byte little-endian integers, `double` 8-byte floats, `int`
 *   4-byte integers, `bool` a bitmap.
 */

import { freeBytes } from "../base/bytes.ts";
import type { CompleteColumns } from "../schema/promoted.ts";
import type { ColumnType, TableSchema } from "../schema/schema.ts";

/** The buffers of one column. */
export interface ColumnData {
  /** Bit i set = row i present; null when no row is null. */
  readonly validity: Uint8Array | null;
  readonly nullCount: number;
  /** Only for `string`: rows + 1 offsets into `values`, ascending, starting at 0. */
  readonly offsets: Int32Array | null;
  readonly values: Uint8Array;
}

/** What the attributes of rows say under some names, be it nothing. */
export interface ToldAttributes {
  readonly names: readonly string[];
  /** For each row, its place in `values`. */
  readonly ids: Uint8Array;
  /** At most 16, each with a value for every name. */
  readonly values: readonly (readonly (string | number | null)[])[];
}

/** Rows as columns: one `ColumnData` for each column of the schema. */
export interface ColumnBatch {
  readonly schema: TableSchema;
  readonly rows: number;
  /** In the schema's order. */
  readonly columns: readonly ColumnData[];
  /** Which promoted columns say all that the rows' attributes do; none when absent. */
  readonly complete?: CompleteColumns;
  /** Attributes whose values were told apart while the rows were made; none when absent. */
  readonly told?: ToldAttributes | undefined;
  /** Which traces the rows can be of (`shared/wal/trace_filter.ts`); absent: that is not known. */
  readonly traces?: Uint8Array | undefined;
  /**
   * Gives the memory of the columns back to their maker, for another batch. Only a holder may call
   * it that knows that neither they nor a message encoded from them are read any more. Calling it
   * is optional.
   */
  readonly release?: () => void;
}

/**
 * A batch as an encapsulated Arrow IPC record-batch message (continuation marker, metadata, body;
 * padded to 8 bytes) in the form of `compact.ts`. It comes in pieces, so that nothing is copied
 * before the write. The schema message is the segment's.
 */
export interface EncodedBatch {
  readonly schema: TableSchema;
  readonly rows: number;
  /** Smallest and largest `timestamp_ns`. */
  readonly timestampNsMin: bigint;
  readonly timestampNsMax: bigint;
  readonly pieces: readonly Uint8Array[];
  readonly byteLength: number;
  /** Bytes of the batch's columns, which a reader of the message has to hold. */
  readonly plainBytes: number;
}

/** The promoted columns that are complete in each of `batches`, to be a member of one of them. */
export function completeOf(
  batches: readonly Pick<ColumnBatch, "complete">[],
): Pick<ColumnBatch, "complete"> {
  const [first, ...others] = batches.map(({ complete = 0n }) => complete);
  const complete = others.reduce((all, one) => all & one, first ?? 0n);
  return complete === 0n ? {} : { complete };
}

/** Bytes of the columns of `batches`. */
export function columnBytes(batches: readonly Pick<ColumnBatch, "columns">[]): number {
  let bytes = 0;
  for (const { columns } of batches) {
    for (const { validity, offsets, values } of columns) {
      bytes += (validity?.byteLength ?? 0) + (offsets?.byteLength ?? 0) + values.byteLength;
    }
  }
  return bytes;
}

/** Frees the memory of columns that nobody reads any more and that share it with nobody. */
export function freeColumns(columns: readonly ColumnData[]): void {
  for (const { validity, offsets, values } of columns) {
    for (const part of [validity, offsets, values]) {
      if (part !== null) freeBytes(new Uint8Array(part.buffer));
    }
  }
}

/** Bytes that the values of `rows` rows take. */
export function valueBytes(type: Exclude<ColumnType, "string">, rows: number): number {
  if (type === "bool") return (rows + 7) >> 3;
  return type === "int" ? 4 * rows : 8 * rows;
}
