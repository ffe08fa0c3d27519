/**
 * One zstd frame whose length unpacked is known, or its start: nothing longer is made of it.
 *
 * One decoder of the thread unpacks those up to `KEPT_BYTES`. A call of `zstdDecompressSync` makes
 * a decoder and an output anew. Most of what it takes for a page of a megabyte is the memory for
 * these.
 */

import { constants, createZstdDecompress, zstdDecompressSync } from "node:zlib";
import { type ZlibDecoder, zlibDecoder } from "./zlib_decoder.ts";

/**
 * Room for an output: all of one that is not very large at once, whatever length its bytes claim to
 * have.
 */
const ROOM_BYTES_MIN = 64;
const ROOM_BYTES_MAX = 16 * 1024 * 1024;

/**
 * The `bytes` bytes that `packed` unpacks to: in a buffer of their own, or in `room` where that has
 * more bytes and they are not very many. Throws when it is damaged, or longer or shorter.
 */
export function unpackZstd(
  packed: Uint8Array,
  bytes: number,
  // One more, to see that it is not longer.
  room: Uint8Array = new Uint8Array(bytes < KEPT_BYTES ? bytes + 1 : 0),
): Uint8Array {
  if (bytes < KEPT_BYTES && bytes < room.length) {
    const frame = new StartedFrame(packed);
    if (frame.unpack(room) === bytes && frame.isOver) return room.subarray(0, bytes);
  }
  return unpackPlainly(packed, bytes);
}

/**
 * What `read` makes of at least the first `wanted` of the `bytes` bytes that `packed` unpacks to.
 * Where it throws, it is asked again with more of them, until it has all. Their memory is used
 * again once it has returned. Throws like `unpackZstd` where it comes to the end.
 */
export function readZstdStart<T>(
  packed: Uint8Array,
  { bytes, wanted }: { readonly bytes: number; readonly wanted: number },
  read: (start: Uint8Array) => T,
): T {
  if (bytes >= KEPT_BYTES) return read(unpackPlainly(packed, bytes));
  return withRoom((room) => {
    const frame = new StartedFrame(packed);
    for (let upTo = wanted; upTo < bytes; upTo += Math.ceil(bytes * MORE_SHARE)) {
      const made = frame.unpack(room.subarray(0, upTo));
      if (made !== upTo) break;
      try {
        return read(room.subarray(0, made));
      } catch {
        // More is needed.
      }
    }
    const made = frame.unpack(room);
    return read(
      made === bytes && frame.isOver ? room.subarray(0, bytes) : unpackPlainly(packed, bytes),
    );
  });
}

/** How much more is unpacked where the first bytes were too few. */
const MORE_SHARE = 1 / 8;

/** By a decoder and a buffer of its own, which also tells what is wrong. */
function unpackPlainly(packed: Uint8Array, bytes: number): Uint8Array {
  const buffer = zstdDecompressSync(packed, {
    // One more, so that its buffer is not found full before the frame's end is seen.
    chunkSize: Math.min(Math.max(ROOM_BYTES_MIN, bytes + 1), ROOM_BYTES_MAX),
    maxOutputLength: Math.max(1, bytes),
  });
  if (buffer.byteLength !== bytes) {
    throw new RangeError(`it unpacks to ${buffer.byteLength} of ${bytes} bytes`);
  }
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

/**
 * Room that is kept from one call to the next: for a page of data files, and more than that, to see
 * that it is not longer. A decoder keeps as much at most.
 */
const KEPT_BYTES = 2 * 1024 * 1024;
let kept: Uint8Array | undefined;

function withRoom<T>(use: (room: Uint8Array) => T): T {
  // A call within `use` finds none, and makes one.
  const room = kept ?? new Uint8Array(KEPT_BYTES);
  kept = undefined;
  try {
    return use(room);
  } finally {
    kept = room;
  }
}

/** Undefined until the first use; null: there is none. */
let decoder: ZlibDecoder | null | undefined;
/** Whose bytes the decoder is amid. */
let latest: StartedFrame | undefined;

/** A frame that is unpacked bit by bit, as far as its bytes are wanted. */
class StartedFrame {
  #taken = 0;
  #made = 0;
  readonly #packed: Uint8Array;

  constructor(packed: Uint8Array) {
    this.#packed = packed;
  }

  /** Whether all of it was read. */
  get isOver(): boolean {
    return this.#taken === this.#packed.length;
  }

  /**
   * Fills `room`, whose first bytes are those of the call before, and returns how many bytes it
   * has. Undefined: it cannot be told.
   */
  unpack(room: Uint8Array): number | undefined {
    if (decoder === undefined) decoder = zlibDecoder(createZstdDecompress());
    if (decoder === null) return undefined;
    const { handle, state } = decoder;
    const packed = this.#packed;
    try {
      if (latest !== this) {
        handle.reset();
        [this.#taken, this.#made, latest] = [0, 0, this];
      }
      const [from, to] = [packed.length - this.#taken, room.length - this.#made];
      handle.writeSync(FLUSH, packed, this.#taken, from, room, this.#made, to, state);
    } catch {
      [decoder, latest] = [undefined, undefined];
      return undefined;
    }
    const [roomLeft = 0, packedLeft = 0] = state;
    [this.#taken, this.#made] = [packed.length - packedLeft, room.length - roomLeft];
    return this.#made;
  }
}

/** More of the frame may come. */
const FLUSH = constants.ZSTD_e_flush;
