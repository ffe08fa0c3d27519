/** One zstd frame whose length unpacked is known: nothing longer is ever made of it. */

import { zstdDecompressSync } from "node:zlib";

/**
 * Room for an output: all of one that is not very large at once, whatever length its bytes claim to
 * have.
 */
const ROOM_BYTES_MIN = 64;
const ROOM_BYTES_MAX = 16 * 1024 * 1024;

/**
 * The `bytes` bytes that `packed` unpacks to, in a buffer of their own. Throws when it is damaged,
 * or longer or shorter.
 */
export function unpackZstd(packed: Uint8Array, bytes: number): Uint8Array {
  const buffer = zstdDecompressSync(packed, {
    // One more, so that its buffer is not found full before the frame's end is seen.
    chunkSize: Math.min(Math.max(ROOM_BYTES_MIN, bytes + 1), ROOM_BYTES_MAX),
    maxOutputLength: Math.max(1, bytes),
  });
  if (buffer.byteLength !== bytes) {
    throw new RangeError(`it unpacks to ${buffer.byteLength} of ${bytes} bytes`);
  }
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}
