/**
 * The thread behind `openParquetDecoder` for files of other writers: some row groups for each
 * request.
 */

import { serveTasks } from "../os/serve_tasks.ts";
import { decodeParquet } from "./decode_parquet.ts";
import type { DecodeRequest } from "./parquet_decoder.ts";

serveTasks(({ file, rowGroups }: DecodeRequest) => {
  const { buffer } = decodeParquet(file, rowGroups);
  return { value: buffer, transfer: [buffer] };
});
