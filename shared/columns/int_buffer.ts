/**
 * 32-bit integers that grow by doubling: offsets of texts, halves of 64-bit numbers. What was
 * written is lent instead of copied, as `ByteBuilder` lends its bytes. Each copy would be a buffer
 * more that the collector has to find and free, some twenty a request.
 */

import { freeBytes } from "../base/bytes.ts";

/** A longer buffer is given back after use. */
const KEPT_INTS_MAX = 256 * 1024;
/** Bytes of lent buffers that are kept, once given back, to be lent again. */
const SPARE_BYTES_MAX = 2 * 1024 * 1024;
/** A shorter one is left to the collector when it has become too short. */
const FREED_BYTES_MIN = 64 * 1024;

export class IntBuffer {
  cells: Int32Array<ArrayBuffer>;
  #spares: Int32Array<ArrayBuffer>[] = [];
  #spareBytes = 0;

  constructor(length: number) {
    this.cells = new Int32Array(length);
  }

  grow(): void {
    const old = this.cells;
    const grown = new Int32Array(2 * old.length);
    grown.set(old);
    this.cells = grown;
    if (old.byteLength >= FREED_BYTES_MIN) freeInts(old.buffer);
  }

  /** The first `length`, without a copy; what is written next goes elsewhere. */
  lend(length: number): Int32Array<ArrayBuffer> {
    const lent = this.cells.subarray(0, length);
    const spare = this.#spares.pop();
    this.#spareBytes -= spare?.byteLength ?? 0;
    this.cells = spare ?? new Int32Array(Math.min(this.cells.length, KEPT_INTS_MAX));
    return lent;
  }

  /** Takes back the buffer of what `lend` gave, once: nobody may read it any more. */
  giveBack(buffer: ArrayBuffer): void {
    const { byteLength } = buffer;
    if (byteLength > 4 * KEPT_INTS_MAX || this.#spareBytes + byteLength > SPARE_BYTES_MAX) {
      return freeInts(buffer);
    }
    this.#spares.push(new Int32Array(buffer));
    this.#spareBytes += byteLength;
  }
}

function freeInts(buffer: ArrayBuffer): void {
  freeBytes(new Uint8Array(buffer));
}
