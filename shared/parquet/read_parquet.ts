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

/**
 * Batches with the file's own columns, in the order of its rows; `name` is for messages. Errors:
 * `corrupt`.
 */
export async function* readParquet(
  bytes: Uint8Array,
  name: string,
): AsyncGenerator<ColumnBatch> {
  const { rowGroups } = parseFooter(bytes, name);
  for (const group of rowGroups.keys()) {
    const { batches } = await INLINE_PARQUET_DECODER.decode(
      { file: bytes, rowGroups: [group] },
      name,
    );
    yield* batches;
  }
}
