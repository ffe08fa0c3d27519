/** Frames without a WAL, for tests of what reads them. */

import { finishFrames, frameLengthMax, layFrames } from "../wal/format.ts";
import type { WalBatch } from "../wal/types.ts";

/** `batch` as a frame of the segment whose header's checksum is `frameSeed`. */
export function frameOf(batch: WalBatch, frameSeed: number): Uint8Array {
  const bytes = new Uint8Array(frameLengthMax(batch));
  const length = layFrames([batch], bytes);
  return bytes.subarray(0, finishFrames(bytes, { length, frameSeed }));
}
