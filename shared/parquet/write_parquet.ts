/**
 * Column batches to one Parquet file in memory, on the calling thread, with what Iceberg wants to
 * know of it. `parquet_encoder.ts` does the same on a thread of its own.
 */

import type { ColumnBatch } from "../columns/batch.ts";
import { describeParquet, type ParquetFile } from "./describe_parquet.ts";
import { encodeParquet } from "./encode_parquet.ts";
import type { ParquetOptions } from "./encode_zstd.ts";
import { parquetInput } from "./parquet_input.ts";

export type { ParquetFile } from "./describe_parquet.ts";
export type { ParquetCompression, ParquetOptions } from "./encode_zstd.ts";

/**
 * Writes `batches`, all with the columns of `options.schema`, in their order. Errors: `too_large`.
 */
export function writeParquet(
  batches: readonly ColumnBatch[],
  options: ParquetOptions,
): ParquetFile {
  const { stream, rows } = parquetInput(batches, options.schema);
  return describeParquet(encodeParquet(stream, options), { schema: options.schema, rows });
}
