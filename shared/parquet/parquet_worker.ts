/** The thread behind `openParquetEncoder` for files that are kept: one file for each request. */

import { serveTasks } from "../os/serve_tasks.ts";
import { encodeZstd } from "./encode_zstd.ts";
import type { EncodeRequest } from "./parquet_encoder.ts";

serveTasks(({ stream, options }: EncodeRequest) => {
  const { buffer } = encodeZstd(stream, options);
  return { value: buffer, transfer: [buffer] };
});
