/** Parquet files of another writer: Arrow's in Rust, with a codec that ours has not. */

import * as wasm from "parquet-wasm";
import type { ColumnBatch } from "../columns/batch.ts";
import { parquetInput } from "../parquet/parquet_input.ts";
import type { TableSchema } from "../schema/schema.ts";

/** The rows of `batches` in a file whose columns are LZ4 blocks. */
export function wasmParquet(
  batches: readonly ColumnBatch[],
  { schema, rowGroupRowsMax }: { readonly schema: TableSchema; readonly rowGroupRowsMax: number },
): Uint8Array<ArrayBuffer> {
  const properties = new wasm.WriterPropertiesBuilder()
    .setCompression(wasm.Compression.LZ4_RAW)
    .setMaxRowGroupSize(rowGroupRowsMax)
    .build();
  const table = wasm.Table.fromIPCStream(parquetInput(batches, schema).stream);
  // The writer consumes both; its result is a copy out of WASM memory.
  return wasm.writeParquet(table, properties) as Uint8Array<ArrayBuffer>;
}
