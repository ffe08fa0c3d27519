/**
 * Rows to a Parquet file's bytes, on the calling thread: an Arrow IPC stream in. What is kept is
 * written by `encode_zstd.ts`, what is soon thrown away by the WASM writer, whose codec is quicker.
 *
 * WASM memory never shrinks, so callers bound a file. All that is allocated there is free again
 * when the call returns.
 */

import * as wasm from "parquet-wasm";
import { encodeZstd, type ParquetOptions } from "./encode_zstd.ts";
import { ROW_GROUP_ROWS } from "./row_groups.ts";

const CREATED_BY = "svc";

/** The file that holds the rows of `stream`, whose schema is that of `options`. */
export function encodeParquet(
  stream: Uint8Array,
  options: ParquetOptions,
): Uint8Array<ArrayBuffer> {
  return options.compression === "zstd" ? encodeZstd(stream, options) : encodeLz4(stream, options);
}

/**
 * Times are delta-encoded: sorted, they took 38 % of what a dictionary made of them, and writing
 * was 11 to 19 % faster.
 */
function encodeLz4(stream: Uint8Array, options: ParquetOptions): Uint8Array<ArrayBuffer> {
  let builder = new wasm.WriterPropertiesBuilder()
    .setCreatedBy(CREATED_BY)
    .setCompression(wasm.Compression.LZ4_RAW)
    .setMaxRowGroupSize(options.rowGroupRowsMax ?? ROW_GROUP_ROWS);
  for (const { name, type } of options.schema.columns) {
    if (name !== "timestamp" && !(name === "timestamp_ns" && type === "long")) continue;
    builder = builder.setColumnDictionaryEnabled(name, false)
      .setColumnEncoding(name, wasm.Encoding.DELTA_BINARY_PACKED);
  }
  const table = wasm.Table.fromIPCStream(stream);
  // The writer consumes both, also when it throws; its result is a copy out of WASM memory.
  return wasm.writeParquet(table, builder.build()) as Uint8Array<ArrayBuffer>;
}
