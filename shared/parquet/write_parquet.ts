/**
 * Column batches to one Parquet file in memory, on the calling thread, with what Iceberg wants to
 * know of it. `parquet_encoder.ts` does the same on a thread of its own.
 */

import { totalRows } from "../base/total_rows.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import { describeParquet, type ParquetFile } from "./describe_parquet.ts";
import { encodeBatches, type ParquetOptions } from "./encode_parquet.ts";

export type { ParquetFile } from "./describe_parquet.ts";
export type { ParquetOptions } from "./encode_parquet.ts";

/** Writes `batches`, all with the columns of `options.schema`, in their order. */
export function writeParquet(
  batches: readonly ColumnBatch[],
  options: ParquetOptions,
): ParquetFile {
  return describeParquet(encodeBatches(batches, options), {
    ...options,
    rows: totalRows(batches),
  });
}
