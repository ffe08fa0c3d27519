/**
 * The Parquet reader itself, in WASM: a file's bytes in, some of its row groups as an Arrow IPC
 * stream out, on the calling thread. All that is allocated in WASM is free again when the call
 * returns.
 */

import { Buffer } from "node:buffer";
import * as wasm from "parquet-wasm";
import { viewOf } from "../base/bytes.ts";
import { ROW_GROUP_ROWS } from "./row_groups.ts";

/**
 * `rowGroups` are positions in the file. Throws what the reader says of a file that it cannot read.
 */
export function decodeParquet(
  file: Uint8Array,
  rowGroups: readonly number[],
): Uint8Array<ArrayBuffer> {
  const options = { batchSize: ROW_GROUP_ROWS, rowGroups: [...rowGroups] };
  const plain = withoutArrowSchema(file);
  // The stream consumes the table; its bytes are a copy out of WASM memory.
  return wasm.readParquet(plain, options).intoIPCStream() as Uint8Array<ArrayBuffer>;
}

/** The length of a text, and the text, as the footer has a key. */
const ARROW_SCHEMA_KEY = Buffer.from("\x0cARROW:schema", "latin1");
/** The footer's length and the magic bytes. */
const TRAILER_BYTES = 8;

/**
 * The file without the key under which Arrow's writers keep their own types. By it the reader would
 * give texts with offsets of 64 bits, dictionaries and views. Without it the types are Parquet's.
 */
function withoutArrowSchema(file: Uint8Array): Uint8Array {
  const trailer = file.length - TRAILER_BYTES;
  if (trailer < 0) return file;
  const footer = viewOf(file).getUint32(trailer, true);
  const start = Math.max(0, trailer - footer);
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const at = bytes.subarray(start, trailer).lastIndexOf(ARROW_SCHEMA_KEY);
  if (at < 0) return file;
  const copy = file.slice();
  // Another key of the same length, which no reader knows.
  copy[start + at + 1] = "-".charCodeAt(0);
  return copy;
}
