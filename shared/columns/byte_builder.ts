/**
 * A growable byte buffer that hot paths write into directly: reserve, write into `bytes`, advance
 * `length`.
 *
 * Invariant: `length` never exceeds `bytes.length`. What a builder gives out is its taker's: `take`
 * copies, `lend` parts with the buffer until `giveBack`. Past `bytesMax` it throws `too_large`.
 */

import { freeBytes } from "../base/bytes.ts";
import { OperatingError } from "../base/errors.ts";

/**
 * Most bytes that one column of one batch may take; Arrow's 32-bit offsets allow no more than 2
 * GiB.
 */
export const COLUMN_BYTES_MAX = 256 * 1024 * 1024;
/** The error's `reason` past it. */
export const COLUMN_TOO_LARGE = "column_too_large";
/** A buffer larger than this is given back after use. */
const KEPT_BYTES_MAX = 8 * 1024 * 1024;
/**
 * A longer buffer that was lent is freed when it comes back: fresh pages are little beside what it
 * takes to fill so many.
 */
const LENT_KEPT_BYTES_MAX = 512 * 1024;
/** Bytes of lent buffers that are kept, once given back, to be lent again. */
const SPARE_BYTES_MAX = 4 * 1024 * 1024;
/** A shorter one is left to the collector in any case. */
const FREED_BYTES_MIN = 64 * 1024;
/** Up to this length a loop copies faster than a call into native code does (measured). */
const LOOP_COPY_MAX = 512;
/** Up to this length a loop encodes ASCII faster than a call into native code does. */
const LOOP_TEXT_MAX = 64;

const encoder = new TextEncoder();

/**
 * Bytes that are copied often, with room behind them, so that `ByteBuilder.copy` goes by words to
 * their end.
 */
export interface CopySource {
  readonly view: DataView;
  readonly length: number;
}

/** Behind the bytes of a `CopySource`. */
export const COPY_ROOM = 8;

/** A copy of `bytes` with room behind them, so that eight bytes are copied at a time. */
export function copySourceOf(bytes: Uint8Array): CopySource {
  const padded = new Uint8Array(bytes.length + COPY_ROOM);
  padded.set(bytes);
  return { view: new DataView(padded.buffer), length: bytes.length };
}

export class ByteBuilder {
  bytes: Uint8Array<ArrayBuffer>;
  /** Over the same memory as `bytes`. */
  view: DataView;
  length = 0;
  /** Looked at when the buffer grows. */
  bytesMax = COLUMN_BYTES_MAX;
  /** Frees a buffer that has become too short: nobody may read it who asked for it before. */
  freesOutgrown = false;
  readonly #capacity: number;
  #spares: Uint8Array<ArrayBuffer>[] = [];
  #spareBytes = 0;

  constructor(capacity = 4096) {
    this.#capacity = capacity;
    this.bytes = new Uint8Array(capacity);
    this.view = new DataView(this.bytes.buffer);
  }

  /** Makes room for `more` bytes after `length`. */
  reserve(more: number): void {
    if (this.length + more > this.bytes.length) this.#grow(this.length + more);
  }

  byte(value: number): void {
    if (this.length === this.bytes.length) this.#grow(this.length + 1);
    this.bytes[this.length] = value;
    this.length += 1;
  }

  /**
   * Appends the bytes of `source` from `start` to `end`. The source is a view, so that eight bytes
   * are copied at a time. Where there is room on both sides the last eight go past the end: what
   * lies past `length` counts for nothing.
   */
  copy(source: DataView, start: number, end: number): void {
    const count = end - start;
    let at = this.length;
    if (at + count + 8 > this.bytes.length) this.#grow(at + count + 8);
    this.length = at + count;
    if (count > LOOP_COPY_MAX) {
      this.bytes.set(new Uint8Array(source.buffer, source.byteOffset + start, count), at);
      return;
    }
    const view = this.view;
    let from = start;
    const wordsEnd = end + 8 <= source.byteLength ? end : end - 7;
    for (; from < wordsEnd; from += 8) {
      view.setBigInt64(at, source.getBigInt64(from, true), true);
      at += 8;
    }
    for (; from < end; from += 1) {
      view.setUint8(at, source.getUint8(from));
      at += 1;
    }
  }

  append(source: Uint8Array): void {
    this.reserve(source.length);
    this.bytes.set(source, this.length);
    this.length += source.length;
  }

  /** Appends `text` as UTF-8; lone surrogates become U+FFFD. */
  text(text: string): void {
    const count = text.length;
    this.reserve(3 * count);
    const bytes = this.bytes;
    let at = this.length;
    if (count <= LOOP_TEXT_MAX) {
      let i = 0;
      for (; i < count; i += 1) {
        const code = text.charCodeAt(i);
        if (code > 0x7f) break;
        bytes[at] = code;
        at += 1;
      }
      if (i === count) {
        this.length = at;
        return;
      }
    }
    this.length += encoder.encodeInto(text, bytes.subarray(this.length)).written;
  }

  /** A copy of what was written; the builder is empty afterwards. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = this.bytes.slice(0, this.length);
    this.clear();
    return taken;
  }

  /** Takes what was written as `take` does, in the form that is copied often. */
  takeSource(): CopySource {
    this.reserve(COPY_ROOM);
    const view = new DataView(this.bytes.slice(0, this.length + COPY_ROOM).buffer);
    const { length } = this;
    this.clear();
    return { view, length };
  }

  /** What was written, without a copy; the builder is empty afterwards and writes elsewhere. */
  lend(): Uint8Array<ArrayBuffer> {
    const lent = this.bytes.subarray(0, this.length);
    const spare = this.#spares.pop();
    this.#spareBytes -= spare?.length ?? 0;
    this.#replace(spare ?? new Uint8Array(Math.min(this.bytes.length, LENT_KEPT_BYTES_MAX)));
    this.length = 0;
    return lent;
  }

  /** Takes back what `lend` gave, once: nobody may read it any more. */
  giveBack(lent: Uint8Array<ArrayBuffer>): void {
    const { byteLength } = lent.buffer;
    if (byteLength > LENT_KEPT_BYTES_MAX || this.#spareBytes + byteLength > SPARE_BYTES_MAX) {
      return freeBytes(new Uint8Array(lent.buffer));
    }
    this.#spares.push(new Uint8Array(lent.buffer));
    this.#spareBytes += byteLength;
  }

  clear(): void {
    this.length = 0;
    if (this.bytes.length > KEPT_BYTES_MAX) this.#replace(new Uint8Array(this.#capacity));
  }

  #grow(needed: number): void {
    if (needed > this.bytesMax) {
      throw new OperatingError(
        "too_large",
        `Cannot hold ${needed} bytes of one column of a request: the limit is ${this.bytesMax}; ` +
          "send fewer rows in a request",
        { reason: COLUMN_TOO_LARGE },
      );
    }
    const grown = new Uint8Array(Math.min(Math.max(2 * this.bytes.length, needed), this.bytesMax));
    const old = this.bytes;
    grown.set(old.subarray(0, this.length));
    this.#replace(grown);
    if (this.freesOutgrown && old.length >= FREED_BYTES_MIN) freeBytes(old);
  }

  #replace(bytes: Uint8Array<ArrayBuffer>): void {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer);
  }
}
