/**
 * What a segment takes in memory: the bytes of its frames' messages, which are many times its own
 * where they are packed. Frames are passed over unchecked: planning needs no more, and reading
 * checks them.
 */

import { isOperatingError } from "../base/errors.ts";
import type { ReadableFile } from "../os/file_system.ts";
import {
  decodeFrameHeader,
  FRAME_HEADER_BYTES,
  frameLengthOf,
  HEADER_FIXED_BYTES,
  headerLengthOf,
  messageBytesOf,
  peekBytesOf,
} from "./format.ts";
import { CHUNK_BYTES } from "./frame_scanner.ts";

/**
 * The bytes of the messages of a whole segment, unpacked. What is no frame, and all behind it,
 * counts as it is.
 */
export function weighSegment(segment: Uint8Array): number {
  const first = firstFrameOf(segment);
  const { next, messageBytes } = weighFrames(segment, { first, isEnd: true });
  return messageBytes + Math.max(0, segment.byteLength - next);
}

/** The bytes of the messages of a segment's file, unpacked, with memory for one chunk. */
export async function weighFile(file: ReadableFile): Promise<number> {
  const size = await file.size();
  const chunk = new Uint8Array(Math.min(size, CHUNK_BYTES));
  let bytes = 0;
  for (let offset = 0; offset < size;) {
    const read = chunk.subarray(0, await file.readAt(chunk, offset));
    const first = offset === 0 ? firstFrameOf(read) : 0;
    const isEnd = offset + read.byteLength >= size;
    const { next, messageBytes } = weighFrames(read, { first, isEnd });
    bytes += messageBytes;
    if (next === 0) return bytes + size - offset;
    offset += next;
  }
  return bytes;
}

/** Where the first frame of a segment begins; 0 for what begins no segment that is known. */
function firstFrameOf(segment: Uint8Array): number {
  if (segment.byteLength < HEADER_FIXED_BYTES) return 0;
  try {
    return headerLengthOf(segment, "that is weighed");
  } catch (error) {
    if (isOperatingError(error)) return 0;
    throw error;
  }
}

/**
 * The messages of the frames whose heads lie in `bytes`, and where the frame after them begins,
 * maybe behind `bytes`.
 */
function weighFrames(
  bytes: Uint8Array,
  { first, isEnd }: { readonly first: number; readonly isEnd: boolean },
): { readonly next: number; readonly messageBytes: number } {
  let next = first;
  let messageBytes = 0;
  while (bytes.byteLength - next >= FRAME_HEADER_BYTES) {
    const frame = bytes.subarray(next);
    const header = decodeFrameHeader(frame);
    if (header === undefined || (!isEnd && frame.byteLength < peekBytesOf(header))) break;
    messageBytes += messageBytesOf(frame, header);
    next += frameLengthOf(header);
  }
  return { next, messageBytes };
}
