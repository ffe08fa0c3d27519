/**
 * The Parquet reader itself, in WASM: a file's bytes in, some of its row groups as an Arrow IPC
 * stream out, on the calling thread. All that is allocated in WASM is free again when the call
 * returns.
 */

import * as wasm from "parquet-wasm";
import { ROW_GROUP_ROWS } from "./row_groups.ts";

/**
 * `rowGroups` are positions in the file. Throws what the reader says of a file that it cannot read.
 */
export function decodeParquet(
  file: Uint8Array,
  rowGroups: readonly number[],
): Uint8Array<ArrayBuffer> {
  const options = { batchSize: ROW_GROUP_ROWS, rowGroups: [...rowGroups] };
  // The stream consumes the table; its bytes are a copy out of WASM memory.
  return wasm.readParquet(file, options).intoIPCStream() as Uint8Array<ArrayBuffer>;
}
