/** A thread behind `openFileThreads`: a data file, or a part of what is derived of one. */

import { type Done, serveTasks } from "../os/serve_tasks.ts";
import { encodeTask } from "../parquet/encode_parquet.ts";
import { deriveTask } from "./derive.ts";
import type { FileRequest } from "./file_threads.ts";
import type { Derived } from "./types.ts";

serveTasks((request: FileRequest): Done<ArrayBuffer | Derived> =>
  "stream" in request ? encodeTask(request) : deriveTask(request)
);
