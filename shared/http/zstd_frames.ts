/**
 * Where the frames of a Zstandard stream end (RFC 8878 section 3.1), read from headers only.
 *
 * The runtime's decoder stops in silence at the end of the first frame and at a torn end. A cut
 * body would therefore count as a shorter valid one. Callers decode frame by frame, each known to
 * be whole. `zstd_splitter.ts` does this for bytes that arrive in pieces.
 */

import { viewOf } from "../base/bytes.ts";
import { HEAD_BYTES_MIN, zstdHeadAt, zstdHeadBytes } from "./zstd_head.ts";

export const CHECKSUM_BYTES = 4;
export const BLOCK_HEADER_BYTES = 3;
const BLOCK_TYPE_RLE = 1;
const BLOCK_TYPE_RESERVED = 3;

/** Frames of one body: each costs a decoder of its own, and senders make one of megabytes. */
export const ZSTD_FRAMES_MAX = 1_024;

/** What is wrong with other bytes. */
export const TORN = `it does not consist of whole Zstandard frames, ${ZSTD_FRAMES_MAX} at most`;

/**
 * Whole data frames of `bytes` in order, skippable ones left out; undefined when it is torn, no
 * Zstandard, or more than `ZSTD_FRAMES_MAX` frames.
 */
export function zstdFrames(bytes: Uint8Array): Uint8Array[] | undefined {
  const view = viewOf(bytes);
  const frames: Uint8Array[] = [];
  for (let at = 0, count = 0; at < bytes.length; count += 1) {
    if (count === ZSTD_FRAMES_MAX || at + HEAD_BYTES_MIN > bytes.length) return undefined;
    const headBytes = zstdHeadBytes(view, at);
    if (headBytes === undefined || at + headBytes > bytes.length) return undefined;
    const { skippedBytes, hasChecksum } = zstdHeadAt(view, at);
    const start = at;
    at += headBytes;
    const end = skippedBytes === undefined ? blocksEnd(view, at) : at + skippedBytes;
    if (end === undefined) return undefined;
    at = end + (hasChecksum ? CHECKSUM_BYTES : 0);
    if (at > bytes.length) return undefined;
    if (skippedBytes === undefined) frames.push(bytes.subarray(start, at));
  }
  return frames.length === 0 ? undefined : frames;
}

function blocksEnd(view: DataView, start: number): number | undefined {
  for (let at = start;;) {
    if (at + BLOCK_HEADER_BYTES > view.byteLength) return undefined;
    const block = zstdBlock(view.getUint16(at, true) | (view.getUint8(at + 2) << 16));
    if (block === undefined) return undefined;
    at += BLOCK_HEADER_BYTES + block.byteLength;
    if (block.isLast) return at;
  }
}

export interface ZstdBlock {
  readonly byteLength: number;
  readonly isLast: boolean;
}

/** What the three bytes of a block's header say; undefined for the reserved type. */
export function zstdBlock(header: number): ZstdBlock | undefined {
  const type = (header >> 1) & 3;
  if (type === BLOCK_TYPE_RESERVED) return undefined;
  return { byteLength: type === BLOCK_TYPE_RLE ? 1 : header >> 3, isLast: (header & 1) === 1 };
}
