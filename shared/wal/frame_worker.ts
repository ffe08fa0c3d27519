/** The thread behind `openFrameThread`. */

import { serveTasks } from "../os/serve_tasks.ts";
import { finishFrames } from "./format.ts";
import type { FrameBuffer, LaidFrames } from "./frame_encoder.ts";

serveTasks(({ bytes, length, frameSeed }: LaidFrames) => {
  const value: FrameBuffer = { bytes, length: finishFrames(bytes, { length, frameSeed }) };
  return { value, transfer: [bytes.buffer] };
});
