/**
 * A growable byte buffer that hot paths write into directly: reserve, write into `bytes`, advance `length`.
 *
 * Invariant: `length` never exceeds `bytes.length`. What a builder gives out (`take`) is an exact copy, so
 * the buffer may be used again for the next request. Past `COLUMN_BYTES_MAX` it throws `too_large`.
 */

import { OperatingError } from "../base/errors.ts";

/** Most bytes that one column of one batch may take; Arrow's 32-bit offsets allow no more than 2 GiB. */
export const COLUMN_BYTES_MAX = 256 * 1024 * 1024;
/** A buffer larger than this is given back after use. */
const KEPT_BYTES_MAX = 8 * 1024 * 1024;
/** Up to this length a loop copies faster than a call into native code does. */
const LOOP_COPY_MAX = 32;

const encoder = new TextEncoder();

export class ByteBuilder {
  bytes: Uint8Array<ArrayBuffer>;
  length = 0;
  readonly #capacity: number;

  constructor(capacity = 4096) {
    this.#capacity = capacity;
    this.bytes = new Uint8Array(capacity);
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

  /** Appends the bytes of `source` from `start` to `end`. */
  copy(source: Uint8Array, start: number, end: number): void {
    const count = end - start;
    let at = this.length;
    if (at + count > this.bytes.length) this.#grow(at + count);
    const bytes = this.bytes;
    if (count <= LOOP_COPY_MAX) {
      for (let i = start; i < end; i += 1) {
        bytes[at] = source[i] as number;
        at += 1;
      }
    } else {
      bytes.set(source.subarray(start, end), at);
    }
    this.length += count;
  }

  append(source: Uint8Array): void {
    this.copy(source, 0, source.length);
  }

  /** Appends `text` as UTF-8; lone surrogates become U+FFFD. */
  text(text: string): void {
    const count = text.length;
    this.reserve(3 * count);
    const bytes = this.bytes;
    let at = this.length;
    if (count <= 2 * LOOP_COPY_MAX) {
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

  clear(): void {
    this.length = 0;
    if (this.bytes.length > KEPT_BYTES_MAX) this.bytes = new Uint8Array(this.#capacity);
  }

  #grow(needed: number): void {
    if (needed > COLUMN_BYTES_MAX) {
      throw new OperatingError(
        "too_large",
        `Cannot hold ${needed} bytes of one column of a request: the limit is ${COLUMN_BYTES_MAX}; ` +
          "send fewer rows in a request",
      );
    }
    const grown = new Uint8Array(
      Math.min(Math.max(2 * this.bytes.length, needed), COLUMN_BYTES_MAX),
    );
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }
}
