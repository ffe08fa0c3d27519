/**
 * Rows to a Parquet file that is kept, on the calling thread: an Arrow IPC stream in, a file's bytes out. Loads no WASM.
 */

import type { ColumnBatch } from "../columns/batch.ts";
import { concatBatches, sliceRows } from "../columns/gather.ts";
import { rowsOfStream } from "../columns/ipc_stream.ts";
import type { TableSchema } from "../event/schema.ts";
import { ROW_GROUP_ROWS } from "./row_groups.ts";
import { ParquetFileWriter } from "./writer/parquet_file.ts";

/** `zstd` for what is kept, `lz4_raw` for what is read soon and thrown away. */
export type ParquetCompression = "zstd" | "lz4_raw";

export interface ParquetOptions {
  readonly schema: TableSchema;
  readonly compression: ParquetCompression;
  /** Default `ROW_GROUP_ROWS`. */
  readonly rowGroupRowsMax?: number;
}

/** The file that holds the rows of `stream`, whose schema is that of `options`. */
export function encodeZstd(
  stream: Uint8Array,
  { schema, rowGroupRowsMax = ROW_GROUP_ROWS }: Omit<ParquetOptions, "compression">,
): Uint8Array<ArrayBuffer> {
  const file = new ParquetFileWriter(schema);
  for (const group of byRowGroup(rowsOfStream(stream).batches, rowGroupRowsMax)) file.add(group);
  return file.finish();
}

/** `rowsMax` rows at a time, fewer only at the end. */
function* byRowGroup(batches: readonly ColumnBatch[], rowsMax: number): Generator<ColumnBatch> {
  let parts: ColumnBatch[] = [];
  let rows = 0;
  for (const batch of batches) {
    for (let at = 0; at < batch.rows;) {
      const end = Math.min(batch.rows, at + rowsMax - rows);
      parts.push(sliceRows(batch, at, end));
      rows += end - at;
      at = end;
      if (rows < rowsMax) continue;
      yield joined(parts);
      parts = [];
      rows = 0;
    }
  }
  if (rows > 0) yield joined(parts);
}

function joined(parts: readonly ColumnBatch[]): ColumnBatch {
  const [only, ...others] = parts;
  return only !== undefined && others.length === 0 ? only : concatBatches(parts);
}
