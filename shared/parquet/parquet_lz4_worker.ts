/**
 * The thread behind `openParquetEncoder` for files that are soon thrown away: with the WASM writer.
 */

import { serveTasks } from "../os/serve_tasks.ts";
import { encodeParquet } from "./encode_parquet.ts";
import type { EncodeRequest } from "./parquet_encoder.ts";

serveTasks(({ stream, options }: EncodeRequest) => {
  const { buffer } = encodeParquet(stream, options);
  return { value: buffer, transfer: [buffer] };
});
