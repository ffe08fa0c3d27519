/**
 * The idempotency key of a frame: names the request that brought its rows, so that a repeated
 * request is known although the process or the machine failed in between. It lies in the frame
 * itself, under the frame's checksum: rows and key are there together or not at all.
 *
 * Layout (integers little-endian): 16 bytes digest of the sender's key, 16 bytes digest of the
 * request's body, 8 bytes Unix ms at which the request was taken.
 */

import { assert } from "../base/assert.ts";

/** Bytes of a key in a frame and in a key file. */
export const FRAME_KEY_BYTES = 40;
export const DIGEST_BYTES = 16;

/** The idempotency key of a request. */
export interface FrameKey {
  /** The digest of what the sender calls the request. */
  readonly digest: Uint8Array;
  /** The digest of what the request holds: the same key for another body is a mistake. */
  readonly bodyDigest: Uint8Array;
  /** Unix ms; the key is remembered from here on. */
  readonly takenMs: number;
}

/** Writes the 40 bytes of a key into `into`, from `at` on. */
export function encodeFrameKey(key: FrameKey, into: Uint8Array, at: number): void {
  assert(key.digest.byteLength === DIGEST_BYTES && key.bodyDigest.byteLength === DIGEST_BYTES);
  into.set(key.digest, at);
  into.set(key.bodyDigest, at + DIGEST_BYTES);
  new DataView(into.buffer, into.byteOffset + at + 2 * DIGEST_BYTES, 8)
    .setBigInt64(0, BigInt(Math.floor(key.takenMs)), true);
}

/** The key that `FRAME_KEY_BYTES` bytes at `at` hold; it keeps nothing of `bytes`. */
export function decodeFrameKey(bytes: Uint8Array, at: number): FrameKey {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, FRAME_KEY_BYTES);
  return {
    digest: bytes.slice(at, at + DIGEST_BYTES),
    bodyDigest: bytes.slice(at + DIGEST_BYTES, at + 2 * DIGEST_BYTES),
    takenMs: Number(view.getBigInt64(2 * DIGEST_BYTES, true)),
  };
}
