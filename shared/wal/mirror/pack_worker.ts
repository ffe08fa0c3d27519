/** The thread behind `openSegmentPacker`: one segment's file for each request. */

import { FileBuffer } from "../../os/file_buffer.ts";
import { serveTasks } from "../../os/serve_tasks.ts";
import { packSegment } from "./packed_segment.ts";

const buffer = new FileBuffer();

serveTasks((path: string) => {
  const segment = buffer.readSync(path);
  if (segment === undefined) return { value: undefined };
  const object = packSegment(segment);
  return { value: { object, bytes: segment.byteLength }, transfer: [object.buffer] };
});
