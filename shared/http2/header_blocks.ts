/** Puts header blocks together from HEADERS and CONTINUATION frames, and decodes them in order. */

import { concatBytes } from "../base/bytes.ts";
import {
  ConnectionError,
  contentOf,
  Flag,
  type FrameHead,
  FrameType,
  Http2ErrorCode,
} from "./frames.ts";
import { HpackDecoder } from "./hpack.ts";
import type { Field } from "./hpack_tables.ts";
import { HTTP2_LIMITS } from "./limits.ts";

/** A whole header block: of a request, or its trailers. */
export interface HeaderBlock {
  readonly stream: number;
  /** The stream ends with it. */
  readonly ends: boolean;
  readonly fields: readonly Field[];
}

export class HeaderBlocks {
  readonly #decoder = new HpackDecoder(HTTP2_LIMITS.headerBytesMax);
  /** The block that goes on in further frames. */
  #open: { stream: number; flags: number; parts: Uint8Array[]; bytes: number } | undefined;

  /** Every frame must pass here first: nothing may come between the parts of a block. */
  check({ type }: FrameHead): void {
    if (this.#open === undefined || type === FrameType.CONTINUATION) return;
    throw new ConnectionError(Http2ErrorCode.PROTOCOL_ERROR, "a header block is interrupted");
  }

  /** Takes a HEADERS or CONTINUATION frame; the block that it made whole. */
  take(head: FrameHead, payload: Uint8Array): HeaderBlock | undefined {
    const { type, stream, flags } = head;
    if (type === FrameType.HEADERS) {
      if (stream % 2 === 0) {
        throw new ConnectionError(Http2ErrorCode.PROTOCOL_ERROR, "a call has an even id");
      }
      this.#open = { stream, flags, parts: [], bytes: 0 };
    }
    const open = this.#open;
    if (open?.stream !== stream) {
      throw new ConnectionError(Http2ErrorCode.PROTOCOL_ERROR, "a continuation of nothing");
    }
    const part = type === FrameType.HEADERS ? contentOf(head, payload) : payload;
    open.bytes += part.byteLength;
    if (open.bytes > HTTP2_LIMITS.headerBytesMax) {
      throw new ConnectionError(Http2ErrorCode.ENHANCE_YOUR_CALM, "a header block is too large");
    }
    open.parts.push(part.slice());
    if ((flags & Flag.END_HEADERS) === 0) return undefined;
    this.#open = undefined;
    return {
      stream,
      ends: (open.flags & Flag.END_STREAM) !== 0,
      fields: this.#decoder.decode(concatBytes(open.parts)),
    };
  }
}
