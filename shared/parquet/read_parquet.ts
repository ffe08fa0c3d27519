/**
 * Rows of a Parquet file in memory, a row group at a time: only one row group is decoded at any
 * time.
 *
 * For files whose columns have field ids and types that a table of ours can have: those that this
 * service wrote.
 */

import type { ColumnBatch } from "../columns/batch.ts";
import { parseFooter } from "./footer.ts";
import { INLINE_PARQUET_DECODER } from "./parquet_decoder.ts";
import { checkFile } from "./summed_places.ts";

/**
 * Batches with the file's own columns, in the order of its rows. `name` is the file's key, or what
 * messages are to call it. All of its bytes are held against their sums first. Errors: `corrupt`,
 * `damaged_file`.
 */
export async function* readParquet(
  bytes: Uint8Array,
  name: string,
): AsyncGenerator<ColumnBatch> {
  const footer = parseFooter(bytes, name);
  checkFile(bytes, { key: name, footer });
  for (const group of footer.rowGroups.keys()) {
    const { batches } = await INLINE_PARQUET_DECODER.decode(
      { file: bytes, rowGroups: [group] },
      name,
    );
    yield* batches;
  }
}
