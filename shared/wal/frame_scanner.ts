/**
 * Walks the frames of a segment file, each checked, with memory for one chunk or one frame. Never
 * repairs: at a frame that is not whole and intact it stops, and can tell what lies behind or go on
 * with the next intact frame.
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
  frameLengthOf,
  HEADER_FIXED_BYTES,
  headerLengthOf,
  mayBeginFrame,
} from "./format.ts";
import type { FrameKey } from "./frame_key.ts";
import type { FrameDamage, WalFrame } from "./types.ts";

/** Bytes of one read, when the frame at hand is not larger. */
export const CHUNK_BYTES = 1024 * 1024;
/** What a reader wants aligned: frames start at multiples of this. */
const FRAME_ALIGNMENT = 8;
/**
 * Bytes of would-be frames that one search checks. Rows can be made to look like beginnings of
 * frames, and each of those would be checked to the end of the file.
 */
const SEARCH_BYTES_MAX = 1024 * 1024 * 1024;

export interface ScannedFrame extends Pick<WalFrame, "offset" | "endOffset"> {
  readonly header: FrameHeader;
  /** The whole frame: its header, its key, its summary and its payload. */
  readonly bytes: Uint8Array;
  /** The key of the request that the rows came with, if it had one. */
  readonly key: FrameKey | undefined;
}

/**
 * What follows the last intact frame. `torn`: the beginning of a frame, or rubbish. `followed`: a
 * frame that is not intact although a later one is.
 */
export type Tail = "none" | "torn" | "followed";

/** What lies between intact frames, or behind the last one. */
export interface SkippedBytes extends FrameDamage {
  /** Whether an intact frame follows. */
  readonly isFollowed: boolean;
}

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
    return await this.#find() === undefined ? "torn" : "followed";
  }

  /**
   * Goes on behind bytes that are no intact frame: at the next one, or at the end. Call it when
   * `next` returned undefined. Returns what it passed over, which is nothing at the end.
   */
  async skip(): Promise<SkippedBytes | undefined> {
    const offset = this.#offset;
    if (offset >= this.#size) return undefined;
    const found = await this.#find();
    const stated = await this.#headerAt(offset);
    const endOffset = found ?? this.#size;
    this.#offset = endOffset;
    const rows = stated?.endOffset === endOffset ? stated.header.rows : undefined;
    return { offset, endOffset, rows, isFollowed: found !== undefined };
  }

  /** All intact frames from here on; `onDamage` is told what is passed over between them. */
  async *intact(onDamage: (damage: SkippedBytes) => void): AsyncGenerator<ScannedFrame> {
    for (;;) {
      for (let frame = await this.next(); frame; frame = await this.next()) yield frame;
      const damage = await this.skip();
      if (damage === undefined) return;
      onDamage(damage);
    }
  }

  /** Where the next intact frame begins behind one that is not. */
  async #find(): Promise<number | undefined> {
    // What a sender wrote may look like a frame; where the damaged frame says it ends is none.
    const stated = (await this.#headerAt(this.#offset))?.endOffset;
    if (stated !== undefined && await this.#frameAt(stated) !== undefined) return stated;
    let checked = 0;
    const window = new Uint8Array(Math.min(CHUNK_BYTES, this.#size - this.#offset));
    for (let start = this.#offset + FRAME_ALIGNMENT; start < this.#size;) {
      const count = Math.min(await this.#file.readAt(window, start), this.#size - start);
      let at = 0;
      for (; at + FRAME_HEADER_BYTES <= count; at += FRAME_ALIGNMENT) {
        if (!mayBeginFrame(window, at)) continue;
        const frame = await this.#headerAt(start + at);
        if (frame === undefined || frame.endOffset > this.#size) continue;
        checked += frame.endOffset - start - at;
        if (checked > SEARCH_BYTES_MAX) return undefined;
        if (await this.#frameAt(start + at) !== undefined) return start + at;
      }
      if (at === 0) return undefined;
      start += at;
    }
    return undefined;
  }

  /** What begins at `offset` as a frame does, intact or not. */
  async #headerAt(
    offset: number,
  ): Promise<{ readonly header: FrameHeader; readonly endOffset: number } | undefined> {
    const start = this.#cached(offset, FRAME_HEADER_BYTES) ??
      await this.#read(offset, FRAME_HEADER_BYTES);
    const header = start === undefined ? undefined : decodeFrameHeader(start);
    if (header === undefined) return undefined;
    return { header, endOffset: offset + frameLengthOf(header) };
  }

  async #frameAt(offset: number): Promise<ScannedFrame | undefined> {
    const { header, endOffset = 0 } = await this.#headerAt(offset) ?? {};
    if (header === undefined) return undefined;
    const length = endOffset - offset;
    const bytes = this.#cached(offset, length) ?? await this.#read(offset, length);
    if (bytes === undefined || !frameIsIntact(bytes, header, this.#frameSeed)) return undefined;
    return { offset, endOffset, header, bytes, key: frameKeyOf(bytes, header) };
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
