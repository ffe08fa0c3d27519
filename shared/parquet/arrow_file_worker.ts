/** The thread behind `ArrowFiles`. */

import * as wasm from "parquet-wasm";
import { serveTasks } from "../os/serve_tasks.ts";
import type { ArrowFileRequest } from "./arrow_file.ts";

const GROUP_ROWS = 122_880;

serveTasks(({ stream }: ArrowFileRequest) => {
  const properties = new wasm.WriterPropertiesBuilder().setCreatedBy("svc")
    .setCompression(wasm.Compression.LZ4_RAW).setMaxRowGroupSize(GROUP_ROWS).build();
  // The writer consumes the table, also when it throws; its result is a copy.
  const { buffer } = wasm.writeParquet(wasm.Table.fromIPCStream(stream), properties);
  return { value: buffer, transfer: [buffer as ArrayBuffer] };
});
