/**
 * Rows to a Parquet file's bytes, on the calling thread. What is read of an Arrow IPC stream comes
 * from another thread.
 */

import { present } from "../base/assert.ts";
import { totalRows } from "../base/total_rows.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import type { BatchSlice } from "../columns/gather.ts";
import { rowsOfStream } from "../columns/ipc_stream.ts";
import type { Done } from "../os/serve_tasks.ts";
import type { WordsColumn } from "../schema/row_words.ts";
import type { TableSchema } from "../schema/schema.ts";
import { evenStarts, rowGroupStarts } from "./row_groups.ts";
import type { Effort } from "./writer/packing.ts";
import { ParquetFileWriter } from "./writer/parquet_file.ts";

export interface EncodeRequest {
  /** An Arrow IPC stream in shared memory. */
  readonly stream: Uint8Array;
  readonly options: ParquetOptions;
}

export interface ParquetOptions {
  readonly schema: TableSchema;
  /** Rows of all row groups but the last; default as `row_groups.ts` has it. */
  readonly rowGroupRowsMax?: number;
  /** Default `usual`. */
  readonly effort?: Effort;
  /** Columns that the file has behind those of `schema`; default none. */
  readonly words?: readonly WordsColumn[];
}

/** The file that holds the rows of `batches`, all with the columns of `options.schema`. */
export function encodeBatches(
  batches: readonly ColumnBatch[],
  { schema, rowGroupRowsMax, effort = "usual", words }: ParquetOptions,
): Uint8Array<ArrayBuffer> {
  const rows = totalRows(batches);
  const starts = rowGroupRowsMax === undefined
    ? rowGroupStarts(rows)
    : evenStarts(rows, rowGroupRowsMax);
  const file = new ParquetFileWriter(schema, { effort, words });
  for (const group of byRowGroup(batches, [...starts.slice(1), rows])) file.add(group);
  return file.finish();
}

/** The file that holds the rows of an Arrow IPC stream, whose schema is that of `options`. */
export function encodeStream(
  stream: Uint8Array,
  options: ParquetOptions,
): Uint8Array<ArrayBuffer> {
  return encodeBatches(rowsOfStream(stream).batches, options);
}

/** What a thread answers with the file of a stream. */
export function encodeTask({ stream, options }: EncodeRequest): Done<ArrayBuffer> {
  const { buffer } = encodeStream(stream, options);
  return { value: buffer, transfer: [buffer] };
}

/** The rows up to each of `ends`, the last of which is the end of all. */
function* byRowGroup(
  batches: readonly ColumnBatch[],
  ends: readonly number[],
): Generator<readonly BatchSlice[]> {
  let ranges: BatchSlice[] = [];
  let [row, group] = [0, 0];
  for (const batch of batches) {
    for (let at = 0; at < batch.rows;) {
      const end = present(ends[group], "row group");
      const until = Math.min(batch.rows, at + end - row);
      ranges.push({ batch, start: at, count: until - at });
      row += until - at;
      at = until;
      if (row < end) continue;
      yield ranges;
      ranges = [];
      group += 1;
    }
  }
}
