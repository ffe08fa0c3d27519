/** The thread behind `openParquetEncoder`: one file for each request. */

import { serveTasks } from "../os/serve_tasks.ts";
import { encodeStream } from "./encode_parquet.ts";
import type { EncodeRequest } from "./parquet_encoder.ts";

serveTasks(({ stream, options }: EncodeRequest) => {
  const { buffer } = encodeStream(stream, options);
  return { value: buffer, transfer: [buffer] };
});
