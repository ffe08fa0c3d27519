/**
 * Snappy bodies for tests: blocks as an encoder of others makes them (hysnappy), and the same in
 * frames.
 */

import { snappyCompress } from "hysnappy";
import { concatBytes } from "../base/bytes.ts";
import { crc32c } from "../base/crc32c.ts";

/** `Content-Encoding: snappy`. */
export function snappyBlock(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(snappyCompress(bytes));
}

/**
 * `x-snappy-framed`; `chunkBytes` of the input a chunk. Golden bodies show that Go frames so, too.
 */
export function snappyFramed(bytes: Uint8Array, chunkBytes = 65_536): Uint8Array<ArrayBuffer> {
  const parts = [snappyFrame(0xff, new TextEncoder().encode("sNaPpY"))];
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    const plain = bytes.subarray(at, at + chunkBytes);
    const packed = snappyBlock(plain);
    const isSmaller = packed.length < plain.length;
    parts.push(
      snappyFrame(isSmaller ? 0 : 1, concatBytes([sum(plain), isSmaller ? packed : plain])),
    );
  }
  return concatBytes(parts);
}

/** One chunk. */
export function snappyFrame(type: number, content: Uint8Array): Uint8Array<ArrayBuffer> {
  const { length } = content;
  const header = Uint8Array.of(type, length & 0xff, (length >> 8) & 0xff, length >> 16);
  return concatBytes([header, content]);
}

/** The masked checksum of a chunk's plain bytes. */
export function sum(plain: Uint8Array): Uint8Array {
  const crc = crc32c(plain);
  const bytes = new Uint8Array(4);
  const masked = ((crc >>> 15) | (crc << 17)) + 0xa282ead8;
  new DataView(bytes.buffer).setUint32(0, masked >>> 0, true);
  return bytes;
}
