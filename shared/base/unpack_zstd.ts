/** One zstd frame whose length unpacked is known: nothing longer is ever made of it. */

import { zstdDecompressSync } from "node:zlib";

/** Room for the least of outputs. */
const OUTPUT_BYTES_MIN = 64;

/** The `bytes` bytes that `packed` unpacks to, in a buffer of their own. Throws when it is damaged, or longer or shorter. */
export function unpackZstd(packed: Uint8Array, bytes: number): Uint8Array {
  const buffer = zstdDecompressSync(packed, {
    // One more, so that its buffer is not found full before the frame's end is seen.
    chunkSize: Math.max(OUTPUT_BYTES_MIN, bytes + 1),
    maxOutputLength: Math.max(1, bytes),
  });
  if (buffer.byteLength !== bytes) {
    throw new RangeError(`it unpacks to ${buffer.byteLength} of ${bytes} bytes`);
  }
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}
