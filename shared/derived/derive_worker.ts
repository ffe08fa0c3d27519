/** The thread behind `openDeriver`: one data file for each request. */

import { serveTasks } from "../os/serve_tasks.ts";
import type { DeriveRequest } from "./deriver.ts";
import { derive } from "./derive.ts";
import { writeSidecar } from "./sidecar.ts";

serveTasks(({ file, subject, limits }: DeriveRequest) => {
  const { buffer } = writeSidecar(derive(file, limits), subject);
  return { value: buffer, transfer: [buffer] };
});
