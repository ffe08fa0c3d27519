/** A thread behind `openSegmentPacker`: one segment's file for each request. */

import { FileBuffer } from "../../os/file_buffer.ts";
import { serveTasks } from "../../os/serve_tasks.ts";
import { yieldToOthers } from "../../os/thread_priority.ts";
import { packSegment } from "./packed_segment.ts";

export interface PackRequest {
  readonly path: string;
  /** From now on this thread lets others run first. */
  readonly yields: boolean;
}

const buffer = new FileBuffer();
let yields = false;

serveTasks((request: PackRequest) => {
  if (request.yields && !yields) yieldToOthers();
  yields ||= request.yields;
  const segment = buffer.readSync(request.path);
  if (segment === undefined) return { value: undefined };
  const packed = packSegment(segment);
  return { value: packed, transfer: [packed.object.buffer] };
});
