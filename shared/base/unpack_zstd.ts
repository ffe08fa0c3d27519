/**
 * One zstd frame whose length unpacked is known, or its start: nothing longer is made of it.
 *
 * One decoder of the thread unpacks all of them. A call of `zstdDecompressSync` makes a decoder and
 * an output anew, and most of what it takes for a page of a megabyte is the memory for these.
 */

import { constants, createZstdDecompress, zstdDecompressSync } from "node:zlib";

/**
 * Room for an output: all of one that is not very large at once, whatever length its bytes claim to
 * have.
 */
const ROOM_BYTES_MIN = 64;
const ROOM_BYTES_MAX = 16 * 1024 * 1024;

/**
 * The `bytes` bytes that `packed` unpacks to, in a buffer of their own. Throws when it is damaged,
 * or longer or shorter.
 */
export function unpackZstd(packed: Uint8Array, bytes: number): Uint8Array {
  if (bytes < ROOM_BYTES_MAX) {
    // One more, to see that it is not longer.
    const room = new Uint8Array(bytes + 1);
    if (unpackInto(room, packed, constants.ZSTD_e_end) === bytes) return room.subarray(0, bytes);
  }
  return unpackPlainly(packed, bytes);
}

/**
 * What `read` makes of at least the first `wanted` of the `bytes` bytes that `packed` unpacks to:
 * whole blocks, as few as give so many. Their memory is used again once `read` has returned. Throws
 * like `unpackZstd` where it comes to the end.
 */
export function readZstdStart<T>(
  packed: Uint8Array,
  { bytes, wanted }: { readonly bytes: number; readonly wanted: number },
  read: (start: Uint8Array) => T,
): T {
  if (bytes >= ROOM_BYTES_MAX) return read(unpackPlainly(packed, bytes));
  return withRoom(bytes + 1, (room) => {
    for (let blocks = Math.ceil((wanted + 1) / BLOCK_BYTES_MAX); wanted < bytes; blocks *= 2) {
      const end = endOfBlocks(packed, blocks);
      if (end === undefined) break;
      // The frame goes on behind what is given.
      const made = unpackInto(room, packed.subarray(0, end), constants.ZSTD_e_flush);
      if (made === undefined || made > bytes) break;
      if (made >= wanted) return read(room.subarray(0, made));
    }
    const made = unpackInto(room, packed, constants.ZSTD_e_end);
    return read(made === bytes ? room.subarray(0, bytes) : unpackPlainly(packed, bytes));
  });
}

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

/** What is kept from one call to the next: room for a page of data files. */
const KEPT_BYTES = 2 * 1024 * 1024;
let kept: Uint8Array | undefined;

function withRoom<T>(bytes: number, use: (room: Uint8Array) => T): T {
  if (bytes > KEPT_BYTES) return use(new Uint8Array(bytes));
  // A call within `use` finds none, and makes one.
  const room = kept ?? new Uint8Array(KEPT_BYTES);
  kept = undefined;
  try {
    return use(room);
  } finally {
    kept = room;
  }
}

/**
 * What a stream of `node:zlib` has inside. It is not documented, but other libraries use it for the
 * same reason (minizlib). Where it looks otherwise, all is unpacked plainly.
 */
interface Decoder {
  /** Held, since the stream's end closes the handle. */
  readonly stream: unknown;
  readonly handle: {
    reset(): void;
    writeSync(
      flush: number,
      ...from: [Uint8Array, number, number, Uint8Array, number, number, Uint32Array]
    ): void;
  };
  /** Bytes of the output and of the input that are left after a write. */
  readonly state: Uint32Array;
}

/** Undefined until the first use; null: there is none. */
let decoder: Decoder | null | undefined;

/** How many bytes `packed` gives. Undefined: it cannot be told, or there is not enough room. */
function unpackInto(room: Uint8Array, packed: Uint8Array, flush: number): number | undefined {
  if (decoder === undefined) decoder = makeDecoder();
  if (decoder === null) return undefined;
  const { handle, state } = decoder;
  try {
    handle.reset();
    handle.writeSync(flush, packed, 0, packed.length, room, 0, room.length, state);
  } catch {
    decoder = undefined;
    return undefined;
  }
  const [roomLeft = 0, packedLeft] = state;
  return packedLeft === 0 && roomLeft > 0 ? room.length - roomLeft : undefined;
}

function makeDecoder(): Decoder | null {
  const stream = createZstdDecompress();
  const handle: unknown = Reflect.get(stream, "_handle");
  const state: unknown = Reflect.get(stream, "_writeState");
  return isHandle(handle) && state instanceof Uint32Array ? { stream, handle, state } : null;
}

function isHandle(handle: unknown): handle is Decoder["handle"] {
  return typeof handle === "object" && handle !== null &&
    ["reset", "writeSync"].every((name) => typeof Reflect.get(handle, name) === "function");
}

/** Most that a block unpacks to. Libraries fill each block but the last. */
const BLOCK_BYTES_MAX = 128 * 1024;
const BLOCK_HEAD_BYTES = 3;

/** Where its first blocks end (RFC 8878, 3.1.1); undefined where it has no more than these. */
function endOfBlocks(packed: Uint8Array, blocks: number): number | undefined {
  const about = packed[4];
  if (about === undefined) return undefined;
  const isSingle = (about & 32) !== 0;
  const contentBytes = [isSingle ? 1 : 0, 2, 4, 8][about >> 6] as number;
  const dictionaryBytes = [0, 1, 2, 4][about & 3] as number;
  let at = 5 + (isSingle ? 0 : 1) + dictionaryBytes + contentBytes;
  for (let block = 0; block < blocks; block += 1) {
    const [low, middle, high] = packed.subarray(at, at + BLOCK_HEAD_BYTES);
    if (low === undefined || middle === undefined || high === undefined || (low & 1) === 1) {
      return undefined;
    }
    const size = (low | middle << 8 | high << 16) >> 3;
    const isRepeated = ((low >> 1) & 3) === 1;
    at += BLOCK_HEAD_BYTES + (isRepeated ? 1 : size);
  }
  return at;
}
