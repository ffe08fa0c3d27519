/**
 * Numbers of few bits, one after the other, lowest bit first; and reading numbers of seven bits a
 * byte.
 */

import type { ByteBuilder } from "../../columns/byte_builder.ts";
import { OperatingError } from "../../base/errors.ts";

/** Most bits that are written or read at a time. */
export const WIDTH_MAX = 24;

export class BitWriter {
  readonly #target: ByteBuilder;
  #pending = 0;
  #count = 0;

  constructor(target: ByteBuilder) {
    this.#target = target;
  }

  /** The lowest `width` bits of `value`. */
  write(value: number, width: number): void {
    this.#pending |= value << this.#count;
    this.#count += width;
    while (this.#count >= 8) {
      this.#target.byte(this.#pending & 0xff);
      this.#pending >>>= 8;
      this.#count -= 8;
    }
  }

  /** `count` zeros and a one. */
  unary(count: number): void {
    let left = count;
    for (; left >= WIDTH_MAX; left -= WIDTH_MAX) this.write(0, WIDTH_MAX);
    this.write(1 << left, left + 1);
  }

  /** Elias gamma code: `value` is at least 1. */
  gamma(value: number): void {
    const width = 31 - Math.clz32(value);
    this.unary(width);
    this.write(value & ((1 << width) - 1), width);
  }

  /** Fills the last byte up with zeros. */
  end(): void {
    if (this.#count > 0) this.#target.byte(this.#pending & 0xff);
    this.#pending = 0;
    this.#count = 0;
  }
}

/** Errors: `corrupt` past the end. */
export class BitReader {
  readonly #bytes: Uint8Array;
  #at: number;
  #end: number;
  #pending = 0;
  #count = 0;

  constructor(bytes: Uint8Array, at = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = at;
    this.#end = end;
  }

  read(width: number): number {
    this.#fill();
    if (width > this.#count) throw pastEnd();
    const value = this.#pending & ((1 << width) - 1);
    this.#drop(width);
    return value;
  }

  unary(): number {
    let zeros = 0;
    for (;;) {
      this.#fill();
      if (this.#count === 0) throw pastEnd();
      if (this.#pending !== 0) break;
      zeros += this.#count;
      this.#count = 0;
    }
    const more = 31 - Math.clz32(this.#pending & -this.#pending);
    this.#drop(more + 1);
    return zeros + more;
  }

  gamma(): number {
    this.#fill();
    // One, which is the most frequent.
    if ((this.#pending & 1) === 1) {
      this.#drop(1);
      return 1;
    }
    const width = this.unary();
    if (width > WIDTH_MAX) throw pastEnd();
    return 1 << width | this.read(width);
  }

  #fill(): void {
    while (this.#count <= 24 && this.#at < this.#end) {
      this.#pending |= (this.#bytes[this.#at] as number) << this.#count;
      this.#at += 1;
      this.#count += 8;
    }
  }

  #drop(width: number): void {
    this.#pending = width < 32 ? this.#pending >>> width : 0;
    this.#count -= width;
  }
}

/** Reads varints and bytes in turn. Errors: `corrupt` past the end. */
export class ByteReader {
  readonly bytes: Uint8Array;
  at: number;
  readonly #end: number;

  constructor(bytes: Uint8Array, at = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = at;
    this.#end = end;
  }

  byte(): number {
    if (this.at >= this.#end) throw pastEnd();
    const value = this.bytes[this.at] as number;
    this.at += 1;
    return value;
  }

  varint(): number {
    let value = 0;
    for (let shift = 0;; shift += 7) {
      const byte = this.byte();
      if (shift === 28 && byte > 7) throw pastEnd();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

  /** Goes past the next `count` varints, without a look at what they are. */
  skipVarints(count: number): void {
    let [left, at] = [count, this.at];
    for (; left > 0 && at < this.#end; at += 1) {
      if ((this.bytes[at] as number) < 0x80) left -= 1;
    }
    if (left > 0) throw pastEnd();
    this.at = at;
  }

  /** A view of the next `count` bytes. */
  take(count: number): Uint8Array {
    const start = this.skip(count);
    return this.bytes.subarray(start, this.at);
  }

  /** Goes past the next `count` bytes; returns where they begin. */
  skip(count: number): number {
    if (count > this.#end - this.at) throw pastEnd();
    const start = this.at;
    this.at += count;
    return start;
  }
}

/** How many bits the Elias gamma code of `value` has. */
export function gammaBits(value: number): number {
  return 2 * (31 - Math.clz32(value)) + 1;
}

/** The error of a reader that has no more. */
export function pastEnd(): OperatingError {
  return new OperatingError("corrupt", "Cannot read an index: it ends within a number");
}
