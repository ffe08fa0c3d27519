/**
 * The frames of a Zstandard stream that arrives in pieces cut anywhere. Holds a frame's head at
 * most.
 *
 * It gives runs of bytes, in order. A run is a frame's head, a block (behind others that hold
 * nothing) or the checksum, or a part of one where a piece ends. Skippable frames are left out. It
 * reads heads and block headers only. Whether the blocks can be decoded is the decoder's to say.
 */

import {
  BLOCK_HEADER_BYTES,
  CHECKSUM_BYTES,
  TORN,
  ZSTD_FRAMES_MAX,
  zstdBlock,
} from "./zstd_frames.ts";
import {
  HEAD_BYTES_MAX,
  HEAD_BYTES_MIN,
  type ZstdHead,
  zstdHeadAt,
  zstdHeadBytes,
} from "./zstd_head.ts";

/**
 * The most runs of one body. Each costs a write of the decoder's stream, 3 µs. Usual blocks have
 * 128 KiB.
 */
export const ZSTD_RUNS_MAX = 262_144;

const TOO_MANY_RUNS =
  `it has more than ${ZSTD_RUNS_MAX} Zstandard blocks: flush the compressor less often`;

export interface ZstdRun {
  readonly bytes: Uint8Array;
  /** A frame's whole head, which a frame begins with; undefined for what follows it. */
  readonly head?: ZstdHead;
  /** The frame ends with this run. */
  readonly isEnd: boolean;
}

/** What a stream may consist of. */
interface ZstdStreamLimits {
  readonly framesMax: number;
  readonly runsMax: number;
}

export class ZstdSplitter {
  readonly #head = new Uint8Array(HEAD_BYTES_MAX);
  readonly #headView = new DataView(this.#head.buffer);
  #headLength = 0;
  /** The frame whose head was read. */
  #frame: FrameWalk | undefined;
  #frames = 0;
  #runs = 0;
  #hasData = false;

  /** The limits are a body's by default. */
  constructor(
    private readonly limits: ZstdStreamLimits = {
      framesMax: ZSTD_FRAMES_MAX,
      runsMax: ZSTD_RUNS_MAX,
    },
  ) {}

  /** Errors: what in `chunk` is no Zstandard. */
  split(chunk: Uint8Array): ZstdRun[] {
    const runs: ZstdRun[] = [];
    for (let at = 0; at < chunk.length;) {
      if (this.#frame === undefined) {
        at = this.#readHead(chunk, { at, runs });
        continue;
      }
      const start = at;
      at = this.#frame.advance(chunk, at);
      const isEnd = this.#frame.isOver;
      if (!this.#frame.isSkippable) runs.push({ bytes: chunk.subarray(start, at), isEnd });
      this.#runs += 1;
      if (this.#runs > this.limits.runsMax) throw new Error(TOO_MANY_RUNS);
      if (isEnd) this.#frame = undefined;
    }
    return runs;
  }

  /** Throws when the stream may not end here: within a frame, or before any. */
  finish(): void {
    if (this.#frame !== undefined || this.#headLength > 0 || !this.#hasData) throw new Error(TORN);
  }

  #readHead(chunk: Uint8Array, { at, runs }: { at: number; runs: ZstdRun[] }): number {
    let end = this.#fillHead(chunk, { at, length: HEAD_BYTES_MIN });
    if (this.#headLength < HEAD_BYTES_MIN) return end;
    const length = zstdHeadBytes(this.#headView, 0);
    if (length === undefined) throw new Error(TORN);
    end = this.#fillHead(chunk, { at: end, length });
    if (this.#headLength < length) return end;
    this.#headLength = 0;
    this.#frames += 1;
    if (this.#frames > this.limits.framesMax) throw new Error(TORN);
    const head = zstdHeadAt(this.#headView, 0);
    const frame = new FrameWalk(head);
    if (!frame.isOver) this.#frame = frame;
    if (frame.isSkippable) return end;
    this.#hasData = true;
    runs.push({ bytes: this.#head.slice(0, length), head, isEnd: false });
    return end;
  }

  /** Takes bytes from `at` on until the head has `length`; where it stopped. */
  #fillHead(chunk: Uint8Array, { at, length }: { at: number; length: number }): number {
    const end = Math.min(chunk.length, at + Math.max(0, length - this.#headLength));
    this.#head.set(chunk.subarray(at, end), this.#headLength);
    this.#headLength += end - at;
    return end;
  }
}

/** From behind the head of a frame to its end. */
class FrameWalk {
  readonly isSkippable: boolean;
  isOver: boolean;
  /** Bytes of the checksum, while it is still to come. */
  #checksumBytes: number;
  /** Bytes to go until the block, the checksum or what is skipped has ended. */
  #left: number;
  #isLastBlock: boolean;
  #isEmpty = false;
  #header = 0;
  #headerLength = 0;

  constructor({ skippedBytes, hasChecksum }: ZstdHead) {
    this.isSkippable = skippedBytes !== undefined;
    this.isOver = skippedBytes === 0;
    this.#left = skippedBytes ?? 0;
    this.#isLastBlock = this.isSkippable;
    this.#checksumBytes = hasChecksum ? CHECKSUM_BYTES : 0;
  }

  /** Where the block at `start` ends in `chunk`, or the checksum does, or the chunk. */
  advance(chunk: Uint8Array, start: number): number {
    let at = start;
    while (at < chunk.length) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, chunk.length - at);
        at += taken;
        this.#left -= taken;
      } else {
        this.#header |= (chunk[at] ?? 0) << (8 * this.#headerLength);
        this.#headerLength += 1;
        at += 1;
        if (this.#headerLength < BLOCK_HEADER_BYTES) continue;
        this.#beginBlock();
      }
      if (this.#left > 0) continue;
      // The decoder makes nothing of a block that holds nothing, so it goes with the next one.
      if (this.#isEmpty && !this.#isLastBlock) continue;
      this.#endBlock();
      break;
    }
    return at;
  }

  #beginBlock(): void {
    const block = zstdBlock(this.#header);
    if (block === undefined) throw new Error(TORN);
    this.#isLastBlock = block.isLast;
    this.#left = block.byteLength;
    this.#isEmpty = block.byteLength === 0;
    this.#header = 0;
    this.#headerLength = 0;
  }

  #endBlock(): void {
    if (!this.#isLastBlock) return;
    this.#left = this.#checksumBytes;
    this.#checksumBytes = 0;
    this.isOver = this.#left === 0;
  }
}
