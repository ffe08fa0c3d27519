/**
 * Snappy's framing format (github.com/google/snappy, `framing_format.txt`), decoded while it
 * arrives: chunks of 64 KiB at most, each by itself, with a checksum.
 *
 * Invariant: holds one chunk of the input and one of the output.
 */

import { viewOf } from "../base/bytes.ts";
import { crc32c } from "../base/crc32c.ts";
import { SnappyBlock } from "./snappy_block.ts";

/** What every such stream begins with: a chunk that says what it is. */
export const STREAM_IDENTIFIER = Uint8Array.from(
  [0xff, 0x06, 0x00, 0x00, ...new TextEncoder().encode("sNaPpY")],
);
/** Decoded. */
const CHUNK_BYTES_MAX = 64 * 1024;
/**
 * What an encoder needs at most for a chunk that it cannot compress: `MaxCompressedLength` of the
 * original.
 */
const PACKED_BYTES_MAX = 32 + CHUNK_BYTES_MAX + Math.floor(CHUNK_BYTES_MAX / 6);
/** Chunks of one stream: each costs a decoder, and 32 MiB are 512 of the usual ones. */
const CHUNKS_MAX = 16_384;
const HEADER_BYTES = 4;
const CHECKSUM_BYTES = 4;
/** What a decoder of a stream holds. */
export const SNAPPY_FRAMES_BYTES = 2 * CHUNK_BYTES_MAX + PACKED_BYTES_MAX;

const COMPRESSED = 0x00;
const UNCOMPRESSED = 0x01;
/** Chunks below may not be skipped, those from here on may. */
const SKIPPABLE_MIN = 0x80;
const IDENTIFIER = 0xff;

/** What is wrong with other bytes. */
const TORN = `it is no whole framed Snappy stream, of ${CHUNKS_MAX} chunks at most`;

export class SnappyFrames {
  readonly #header = new Uint8Array(HEADER_BYTES);
  #headerLength = 0;
  /** The bytes so far of the chunk that is not over. It stays empty while a chunk is skipped. */
  #chunk = new Uint8Array(0);
  #chunkLength = 0;
  /** Bytes of it that have not come. */
  #left = 0;
  #chunks = 0;

  /**
   * What comes of the next bytes of the stream, a piece per chunk. Errors: what of it is no framed
   * Snappy.
   */
  *decode(input: Uint8Array): Generator<Uint8Array, void, undefined> {
    for (let at = 0; at < input.length;) {
      if (this.#headerLength < HEADER_BYTES) {
        this.#header[this.#headerLength] = input[at] as number;
        this.#headerLength += 1;
        at += 1;
        if (this.#headerLength === HEADER_BYTES) this.#begin();
      } else {
        const end = Math.min(input.length, at + this.#left);
        if (this.#header[0] as number < SKIPPABLE_MIN || this.#header[0] === IDENTIFIER) {
          this.#chunk.set(input.subarray(at, end), this.#chunkLength);
          this.#chunkLength += end - at;
        }
        this.#left -= end - at;
        at = end;
      }
      if (this.#headerLength < HEADER_BYTES || this.#left > 0) continue;
      this.#headerLength = 0;
      const piece = this.#end();
      if (piece.length > 0) yield piece;
    }
  }

  /** Throws when the stream may not end here: within a chunk, or before any. */
  finish(): void {
    if (this.#headerLength > 0 || this.#chunks === 0) throw new Error(TORN);
  }

  /** After a chunk's header. */
  #begin(): void {
    const [type = 0, low = 0, middle = 0, high = 0] = this.#header;
    const length = low | (middle << 8) | (high << 16);
    const isIdentifier = type === IDENTIFIER;
    if (this.#chunks === 0 && !isIdentifier) throw new Error(TORN);
    this.#chunks += 1;
    if (this.#chunks > CHUNKS_MAX) throw new Error(TORN);
    this.#left = length;
    this.#chunkLength = 0;
    if (type >= SKIPPABLE_MIN && !isIdentifier) return;
    const [min, max] = isIdentifier
      ? [STREAM_IDENTIFIER.length - HEADER_BYTES, STREAM_IDENTIFIER.length - HEADER_BYTES]
      : [CHECKSUM_BYTES, CHECKSUM_BYTES + (PACKED[type] ?? -1)];
    if (length < min || length > max) throw new Error(TORN);
    if (this.#chunk.length < length) this.#chunk = new Uint8Array(length);
  }

  /** The output of the chunk that is whole. */
  #end(): Uint8Array {
    const chunk = this.#chunk.subarray(0, this.#chunkLength);
    const [type = 0] = this.#header;
    if (type === IDENTIFIER) {
      const isOne = chunk.every((byte, i) => byte === STREAM_IDENTIFIER[HEADER_BYTES + i]);
      if (!isOne) throw new Error(TORN);
      return chunk.subarray(0, 0);
    }
    if (type >= SKIPPABLE_MIN) return chunk.subarray(0, 0);
    const packed = chunk.subarray(CHECKSUM_BYTES);
    // In memory of its own: the chunk's is used again.
    const output = type === UNCOMPRESSED
      ? packed.slice()
      : SnappyBlock.whole(packed, requireChunkLength);
    if (masked(crc32c(output)) !== viewOf(chunk).getUint32(0, true)) {
      throw new Error("the checksum of a chunk of its framed Snappy is wrong");
    }
    return output;
  }
}

/** Most bytes after a chunk's checksum, by type; others may not be there. */
const PACKED: Readonly<Record<number, number>> = {
  [COMPRESSED]: PACKED_BYTES_MAX,
  [UNCOMPRESSED]: CHUNK_BYTES_MAX,
};

function requireChunkLength(bytes: number): void {
  if (bytes > CHUNK_BYTES_MAX) throw new Error(TORN);
}

/**
 * Masks a checksum as the format asks for, so that a checksum of bytes that hold their own checksum
 * is no special number.
 */
function masked(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

/** Whether `bytes` begin as such a stream does; no block does. */
export function isFramed(bytes: Uint8Array): boolean {
  return bytes.length >= STREAM_IDENTIFIER.length &&
    STREAM_IDENTIFIER.every((byte, i) => bytes[i] === byte);
}
