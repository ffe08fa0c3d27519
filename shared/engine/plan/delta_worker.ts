/** The thread behind `openDeltaEncoder`: a piece of a segment for each request. */

import { serveTasks } from "../../os/serve_tasks.ts";
import { type DeltaContent, type DeltaRows, encodeDelta } from "./delta_file.ts";

serveTasks<DeltaRows, DeltaContent>((rows) => {
  const value = encodeDelta(rows);
  const { buffer } = value.bytes;
  return { value, transfer: buffer instanceof ArrayBuffer ? [buffer] : [] };
});
