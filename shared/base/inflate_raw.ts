/**
 * Deflated bytes without a header, whose length unpacked is known. One decoder of the thread
 * unpacks them: to make one takes longer than to unpack some kilobytes.
 */

import { constants, createInflateRaw, inflateRawSync } from "node:zlib";
import { type ZlibDecoder, zlibDecoder } from "./zlib_decoder.ts";

/** Longer ones are unpacked plainly. */
const KEPT_BYTES = 256 * 1024;

/** Undefined until the first use; null: there is none. */
let decoder: ZlibDecoder | null | undefined;
/** One byte more than is unpacked, to see that it is not longer. */
let kept: Uint8Array | undefined;

/**
 * The `length` bytes that `packed` unpacks to, in memory that the next call uses again. Throws when
 * it is damaged, or longer or shorter.
 */
export function inflateRaw(packed: Uint8Array, length: number): Uint8Array {
  if (length <= KEPT_BYTES) {
    kept ??= new Uint8Array(KEPT_BYTES + 1);
    if (isUnpacked(packed, kept.subarray(0, length + 1), length)) return kept.subarray(0, length);
  }
  const bytes = inflateRawSync(packed, { maxOutputLength: Math.max(1, length) });
  if (bytes.byteLength !== length) {
    throw new RangeError(`it unpacks to ${bytes.byteLength} of ${length} bytes`);
  }
  return new Uint8Array(bytes.buffer, bytes.byteOffset, length);
}

/** Whether `length` bytes are made, and no more; they are the first of `room`. */
function isUnpacked(packed: Uint8Array, room: Uint8Array, length: number): boolean {
  if (decoder === undefined) decoder = zlibDecoder(createInflateRaw());
  if (decoder === null) return false;
  const { handle, state } = decoder;
  try {
    handle.reset();
    handle.writeSync(constants.Z_FINISH, packed, 0, packed.length, room, 0, room.length, state);
    const [roomLeft, packedLeft] = state;
    if (packedLeft === 0 && roomLeft === room.length - length) return true;
  } catch {
    // It is unpacked plainly.
  }
  // Its stream is closed after an error.
  decoder = undefined;
  return false;
}
