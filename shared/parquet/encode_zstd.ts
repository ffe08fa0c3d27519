/**
 * Rows to a Parquet file that is kept, on the calling thread: an Arrow IPC stream in, a file's
 * bytes out. Loads no WASM.
 */

import { present } from "../base/assert.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import type { BatchSlice } from "../columns/gather.ts";
import { rowsOfStream } from "../columns/ipc_stream.ts";
import type { TableSchema } from "../schema/schema.ts";
import { evenStarts, rowGroupStarts } from "./row_groups.ts";
import { ParquetFileWriter } from "./writer/parquet_file.ts";

/** `zstd` for what is kept, `lz4_raw` for what is read soon and thrown away. */
export type ParquetCompression = "zstd" | "lz4_raw";

export interface ParquetOptions {
  readonly schema: TableSchema;
  readonly compression: ParquetCompression;
  /** Rows of all row groups but the last; default as `row_groups.ts` has it. */
  readonly rowGroupRowsMax?: number;
  /**
   * With zstd: whether texts are packed as small as pays, for a file that is kept long. Default
   * false.
   */
  readonly isThorough?: boolean;
}

/** The file that holds the rows of `stream`, whose schema is that of `options`. */
export function encodeZstd(
  stream: Uint8Array,
  { schema, rowGroupRowsMax, isThorough = false }: Omit<ParquetOptions, "compression">,
): Uint8Array<ArrayBuffer> {
  const { batches } = rowsOfStream(stream);
  const rows = batches.reduce((sum, batch) => sum + batch.rows, 0);
  const starts = rowGroupRowsMax === undefined
    ? rowGroupStarts(rows)
    : evenStarts(rows, rowGroupRowsMax);
  const file = new ParquetFileWriter(schema, { isThorough });
  for (const group of byRowGroup(batches, [...starts.slice(1), rows])) file.add(group);
  return file.finish();
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
