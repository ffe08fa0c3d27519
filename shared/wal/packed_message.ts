/**
 * A frame's message, packed: what is not written need not be copied into fresh pages, synced,
 * mirrored and read again.
 *
 *     offset size
 *      0     4    message bytes m
 *      4     4    packed bytes z
 *      8     z    one zstd frame
 *      8+z        zeros up to a multiple of 8
 *
 * README.md ("Packed frames") has what it costs and gains. The frame's checksum covers the packed
 * bytes.
 */

import { constants, zstdCompressSync } from "node:zlib";
import { assert } from "../base/assert.ts";
import { freeBytes, viewOf } from "../base/bytes.ts";
import { unpackZstd } from "../base/unpack_zstd.ts";

/** Shorter messages stay as they are: a call of the packer costs 30 µs whatever it is given. */
export const PACKED_MESSAGE_BYTES_MIN = 32 * 1024;
/** Longer results are not worth unpacking. */
const PACKED_SHARE_MAX = 0.8;
/** Bytes of the fields `messageBytes` and `packedBytes`. */
export const PACKED_HEAD_BYTES = 8;

const PARAMS = { [constants.ZSTD_c_compressionLevel]: -3 };

/**
 * Packs `message` where it lies; the bytes that it takes now, or undefined when it stays as it is.
 */
export function packMessage(message: Uint8Array): number | undefined {
  const { byteLength } = message;
  if (byteLength < PACKED_MESSAGE_BYTES_MIN) return undefined;
  // When zstd knows the length, packing takes a fifth less time.
  const chunkSize = byteLength >> 1;
  const options = { chunkSize, params: PARAMS, pledgedSrcSize: byteLength };
  const packed = zstdCompressSync(message, options);
  const packedBytes = packed.byteLength;
  if (packedBytes > PACKED_SHARE_MAX * byteLength) return undefined;
  const end = PACKED_HEAD_BYTES + packedBytes;
  const padded = Math.ceil(end / 8) * 8;
  assert(padded < byteLength);
  const view = viewOf(message);
  view.setUint32(0, byteLength, true);
  view.setUint32(4, packedBytes, true);
  message.set(packed, PACKED_HEAD_BYTES);
  // The part of one chunk that was filled, as a rule; what is longer is put together and left to
  // the collector.
  const { buffer } = packed;
  if (buffer.byteLength === chunkSize) freeBytes(new Uint8Array(buffer));
  message.fill(0, end, padded);
  return padded;
}

/** Bytes of the message in a payload of which the head is there; undefined when it is cut off. */
export function packedMessageBytes(payload: Uint8Array): number | undefined {
  return payload.byteLength < PACKED_HEAD_BYTES ? undefined : viewOf(payload).getUint32(0, true);
}

/**
 * The message of a whole payload, in a buffer of its own; undefined for one of more than
 * `bytesMax`, or none.
 */
export function unpackMessage(payload: Uint8Array, bytesMax: number): Uint8Array | undefined {
  const bytes = packedMessageBytes(payload);
  if (bytes === undefined || bytes > bytesMax) return undefined;
  const packedBytes = viewOf(payload).getUint32(4, true);
  if (PACKED_HEAD_BYTES + packedBytes > payload.byteLength) return undefined;
  const packed = payload.subarray(PACKED_HEAD_BYTES, PACKED_HEAD_BYTES + packedBytes);
  try {
    return unpackZstd(packed, bytes);
  } catch {
    return undefined;
  }
}
