/**
 * The thread behind `openParquetDecoder` for our own files: some row groups for each request, in
 * the memory that it brings.
 */

import { serveTasks } from "../os/serve_tasks.ts";
import type { OwnRequest } from "./parquet_decoder.ts";
import { readOwnFile } from "./reader/own_file.ts";

serveTasks(({ file, rowGroups, spare }: OwnRequest) => {
  const value = readOwnFile(file, rowGroups, spare);
  return { value, transfer: value === undefined ? [] : [value.buffer] };
});
