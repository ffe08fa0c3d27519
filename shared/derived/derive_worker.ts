/** A thread behind `openDeriver`: a part of what is derived of one data file for each request. */

import { serveTasks } from "../os/serve_tasks.ts";
import type { DeriveRequest } from "./deriver.ts";
import { derivePart } from "./derive.ts";

serveTasks(({ part, file, limits }: DeriveRequest) => {
  // What a blob is a part of stays here; `slice` of a Buffer would be no copy.
  const value = derivePart(part, file, limits).map((blob) => ({
    ...blob,
    data: new Uint8Array(blob.data),
  }));
  return { value, transfer: value.map(({ data }) => data.buffer) };
});
