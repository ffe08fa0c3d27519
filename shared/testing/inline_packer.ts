/** A packer of mirrored segments without a thread, over any file system. */

import type { ReadableFiles } from "../os/file_system.ts";
import { packSegment } from "../wal/mirror/packed_segment.ts";
import type { SegmentPacker } from "../wal/mirror/segment_packer.ts";

export function inlinePacker(fs: Pick<ReadableFiles, "readFile">): SegmentPacker {
  return {
    isAvailable: true,
    async packFile(path) {
      try {
        return packSegment(await fs.readFile(path));
      } catch (error) {
        if (error instanceof Deno.errors.NotFound) return undefined;
        throw error;
      }
    },
    [Symbol.dispose]() {},
  };
}
