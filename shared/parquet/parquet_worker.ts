/** The thread behind `openParquetEncoder`: one file for each request. */

import { serveTasks } from "../os/serve_tasks.ts";
import { encodeTask } from "./encode_parquet.ts";

serveTasks(encodeTask);
