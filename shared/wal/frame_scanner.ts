/**
 * Walks the frames of a segment file, each checked, with memory for one chunk or one frame. Never
 * repairs: at the first frame that is not whole and intact it stops and can tell what lies behind.
 *
 * Invariant: a frame that was handed out stays valid; chunks are never reused.
 */

import type { ReadableFile } from "../os/file_system.ts";
import {
  type DecodedHeader,
  decodeFrameHeader,
  decodeHeader,
  FRAME_HEADER_BYTES,
  type FrameHeader,
  frameIsIntact,
  frameKeyOf,
  HEADER_FIXED_BYTES,
  headerLengthOf,
} from "./format.ts";
import type { FrameKey } from "./frame_key.ts";
import type { WalFrame } from "./types.ts";

/** Bytes of one read, when the frame at hand is not larger. */
export const CHUNK_BYTES = 1024 * 1024;
/** What a reader wants aligned: frames start at multiples of this. */
const FRAME_ALIGNMENT = 8;

export interface ScannedFrame extends Pick<WalFrame, "offset" | "endOffset"> {
  readonly header: FrameHeader;
  /** The whole frame: its header, its key and its payload. */
  readonly bytes: Uint8Array;
  /** The key of the request that the rows came with, if it had one. */
  readonly key: FrameKey | undefined;
}

/**
 * What follows the last intact frame. `torn`: the beginning of a frame, or rubbish. `followed`: a
 * frame that is not intact although a later one is.
 */
export type Tail = "none" | "torn" | "followed";

/**
 * Reads a segment's header. Returns undefined when the file ends before the header does: it never
 * held a durable frame. Throws what `format.ts` throws for any other header; `where` names the
 * file.
 */
export async function readSegmentHeader(
  file: ReadableFile,
  where: string,
): Promise<DecodedHeader | undefined> {
  const fixed = new Uint8Array(HEADER_FIXED_BYTES);
  if (await file.readAt(fixed, 0) < HEADER_FIXED_BYTES) return undefined;
  const whole = new Uint8Array(headerLengthOf(fixed, where));
  if (await file.readAt(whole, 0) < whole.byteLength) return undefined;
  return decodeHeader(whole, where);
}

export class FrameScanner {
  readonly #file: ReadableFile;
  readonly #frameSeed: number;
  readonly #size: number;
  #offset: number;
  #chunk: Uint8Array = new Uint8Array(0);
  #chunkOffset = 0;

  /** Scans the file's first `size` bytes from `offset`, which must be where a frame begins. */
  constructor(file: ReadableFile, range: { frameSeed: number; offset: number; size: number }) {
    this.#file = file;
    this.#frameSeed = range.frameSeed;
    this.#offset = range.offset;
    this.#size = range.size;
  }

  /** Behind the last intact frame. */
  get offset(): number {
    return this.#offset;
  }

  /** The next frame, or undefined at the end of the file and before a frame that is not intact. */
  async next(): Promise<ScannedFrame | undefined> {
    const frame = await this.#frameAt(this.#offset);
    if (frame !== undefined) this.#offset = frame.endOffset;
    return frame;
  }

  /** What lies behind the last intact frame; call it when `next` returned undefined. */
  async tail(): Promise<Tail> {
    if (this.#offset >= this.#size) return "none";
    for (let at = this.#offset + FRAME_ALIGNMENT; at < this.#size; at += FRAME_ALIGNMENT) {
      if (await this.#frameAt(at) !== undefined) return "followed";
    }
    return "torn";
  }

  async #frameAt(offset: number): Promise<ScannedFrame | undefined> {
    const start = this.#cached(offset, FRAME_HEADER_BYTES) ??
      await this.#read(offset, FRAME_HEADER_BYTES);
    const header = start === undefined ? undefined : decodeFrameHeader(start);
    if (header === undefined) return undefined;
    const length = FRAME_HEADER_BYTES + header.keyBytes + header.payloadBytes;
    const bytes = this.#cached(offset, length) ?? await this.#read(offset, length);
    if (bytes === undefined || !frameIsIntact(bytes, header, this.#frameSeed)) return undefined;
    return {
      offset,
      endOffset: offset + length,
      header,
      bytes,
      key: frameKeyOf(bytes, header),
    };
  }

  /** The bytes when the current chunk holds them. */
  #cached(offset: number, length: number): Uint8Array | undefined {
    const start = offset - this.#chunkOffset;
    if (start < 0 || start + length > this.#chunk.byteLength) return undefined;
    return this.#chunk.subarray(start, start + length);
  }

  /** Reads a new chunk at `offset`; undefined when the file ends before `length` bytes. */
  async #read(offset: number, length: number): Promise<Uint8Array | undefined> {
    if (offset + length > this.#size) return undefined;
    const chunk = new Uint8Array(Math.min(this.#size - offset, Math.max(length, CHUNK_BYTES)));
    const count = await this.#file.readAt(chunk, offset);
    this.#chunk = chunk.subarray(0, count);
    this.#chunkOffset = offset;
    return this.#cached(offset, length);
  }
}
