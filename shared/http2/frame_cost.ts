/**
 * What a frame costs: the work that it makes, after which others have their turn, and the waste in
 * it, of which a connection has an allowance. `limits.ts` has the bounds.
 *
 * Work is time. Waste is, about, frames that carry no part of a call that is answered. One table
 * prices all frames, so that a kind of frame that nobody thought of costs, too.
 */

import { Flag, type FrameHead, FrameType } from "./frames.ts";

/**
 * The work of a call: its stream, its header fields, and how its handler begins. Microseconds,
 * about.
 */
const CALL_WORK = 60;
const FRAME_WORK = 1;
/** Decoding Huffman codes, or fields of a byte each: the most expensive there are. */
const HEADER_BYTES_PER_WORK = 8;
/** Settings are read one by one. */
const SETTING_BYTES_PER_WORK = 512;
/** Body bytes are copied. */
const DATA_BYTES_PER_WORK = 4_096;

/**
 * A frame of data with less content than this is part waste: a sender that has more fills its
 * frames.
 */
const CONTENT_BYTES_MIN = 512;
/** What is not of a call wastes so much more the longer it is. */
const BYTES_PER_WASTE = 256;

/** A call that was opened for nothing: reset by either side before its answer. */
export const RESET_WASTE = 10;

/** Microseconds of our time, about, without what a handler does later. */
export function workOf({ type, payloadBytes }: FrameHead): number {
  switch (type) {
    case FrameType.HEADERS:
      return CALL_WORK + payloadBytes / HEADER_BYTES_PER_WORK;
    case FrameType.CONTINUATION:
      return FRAME_WORK + payloadBytes / HEADER_BYTES_PER_WORK;
    case FrameType.SETTINGS:
      return FRAME_WORK + payloadBytes / SETTING_BYTES_PER_WORK;
    default:
      return FRAME_WORK + payloadBytes / DATA_BYTES_PER_WORK;
  }
}

/**
 * The waste in a frame as it comes. What turns out to be waste later is charged then: a call that
 * is reset, and what belongs to none any more (`strayWaste`).
 */
export function wasteOf({ type, payloadBytes, flags }: FrameHead, payload: Uint8Array): number {
  switch (type) {
    case FrameType.HEADERS:
    case FrameType.RST_STREAM:
      return 0;
    case FrameType.CONTINUATION:
      return 1;
    case FrameType.DATA: {
      const padding = (flags & Flag.PADDED) === 0 ? 0 : 1 + (payload[0] ?? 0);
      return Math.max(0, 1 - Math.max(0, payloadBytes - padding) / CONTENT_BYTES_MIN);
    }
    default:
      return 1 + Math.floor(payloadBytes / BYTES_PER_WASTE);
  }
}

/** The waste in a frame of a call that is over, besides that of `wasteOf`. */
export function strayWaste({ type, payloadBytes }: FrameHead): number {
  return type === FrameType.HEADERS ? 1 + payloadBytes / BYTES_PER_WASTE : 1;
}
