/** One zstd frame whose length unpacked is known, or its start: nothing longer is made of it. */

import { constants, zstdDecompressSync } from "node:zlib";

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

/** Most that a block unpacks to. Libraries fill each block but the last. */
const BLOCK_BYTES_MAX = 128 * 1024;
const BLOCK_HEAD_BYTES = 3;

/**
 * At least the first `wanted` of the `bytes` bytes that `packed` unpacks to, in a buffer of their
 * own: whole blocks, as few as give so many. Throws like `unpackZstd` where it comes to the end.
 */
export function unpackZstdStart(
  packed: Uint8Array,
  { bytes, wanted }: { readonly bytes: number; readonly wanted: number },
): Uint8Array {
  for (let blocks = Math.ceil((wanted + 1) / BLOCK_BYTES_MAX); wanted < bytes; blocks *= 2) {
    const end = endOfBlocks(packed, blocks);
    if (end === undefined) break;
    const buffer = zstdDecompressSync(packed.subarray(0, end), {
      chunkSize: Math.min(blocks * BLOCK_BYTES_MAX, bytes) + 1,
      maxOutputLength: bytes,
      // The frame goes on behind what is given.
      finishFlush: constants.ZSTD_e_flush,
    });
    if (buffer.byteLength >= wanted) {
      return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
    }
  }
  return unpackZstd(packed, bytes);
}

/** Where its first blocks end (RFC 8878, 3.1.1); undefined where it has no more than these. */
function endOfBlocks(packed: Uint8Array, blocks: number): number | undefined {
  const about = packed[4];
  if (about === undefined) return undefined;
  const isSingle = (about & 32) !== 0;
  const contentBytes = [isSingle ? 1 : 0, 2, 4, 8][about >> 6] as number;
  const dictionaryBytes = [0, 1, 2, 4][about & 3] as number;
  let at = 5 + (isSingle ? 0 : 1) + dictionaryBytes + contentBytes;
  for (let block = 0; block < blocks; block += 1) {
    const [low, middle, high] = packed.subarray(at, at + BLOCK_HEAD_BYTES);
    if (low === undefined || middle === undefined || high === undefined || (low & 1) === 1) {
      return undefined;
    }
    const size = (low | middle << 8 | high << 16) >> 3;
    const isRepeated = ((low >> 1) & 3) === 1;
    at += BLOCK_HEAD_BYTES + (isRepeated ? 1 : size);
  }
  return at;
}
