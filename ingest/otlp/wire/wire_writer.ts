/**
 * The protobuf wire format, written forward into one buffer. A message's length is filled in when
 * it ends, as a varint of four bytes (padded, which the format allows), so that nothing is measured
 * beforehand.
 */

import { assert } from "../../../shared/base/assert.ts";
import { ByteBuilder } from "../../../shared/columns/byte_builder.ts";

const LENGTH_BYTES = 4;
const LENGTH_MAX = 2 ** 28 - 1;
/** A string of so many units has fewer than 128 bytes: its length takes one. */
const SHORT_TEXT_MAX = 42;
const ONE_BYTE_LENGTH_MAX = 127;

/** The value of each hexadecimal digit by its character code; 0xff for what is none. */
const NIBBLES = Uint8Array.from({ length: 128 }, (_, code) => {
  const digit = "0123456789abcdef".indexOf(String.fromCharCode(code).toLowerCase());
  return digit < 0 ? 0xff : digit;
});

export class WireWriter {
  readonly out = new ByteBuilder(64 * 1024);
  readonly #scratch = new ByteBuilder(64);

  /** Starts a length-delimited field; give the result to `end`. */
  start(tag: number): number {
    const { out } = this;
    out.reserve(1 + LENGTH_BYTES);
    out.view.setUint8(out.length, tag);
    out.length += 1 + LENGTH_BYTES;
    return out.length;
  }

  end(start: number): void {
    const length = this.out.length - start;
    assert(length <= LENGTH_MAX, "a request is smaller than 256 MiB");
    const { view } = this.out;
    view.setUint8(start - 4, (length & 0x7f) | 0x80);
    view.setUint8(start - 3, ((length >> 7) & 0x7f) | 0x80);
    view.setUint8(start - 2, ((length >> 14) & 0x7f) | 0x80);
    view.setUint8(start - 1, length >> 21);
  }

  string(tag: number, text: string): void {
    if (text.length <= SHORT_TEXT_MAX) {
      const { out } = this;
      out.reserve(2);
      const at = out.length;
      out.view.setUint8(at, tag);
      out.length = at + 2;
      out.text(text);
      out.view.setUint8(at + 1, out.length - at - 2);
      return;
    }
    const start = this.start(tag);
    this.out.text(text);
    this.end(start);
  }

  /** A string field, given as the UTF-8 in `source` from `start` to `end`. */
  copy(tag: number, source: DataView, start: number, end: number): void {
    const length = end - start;
    if (length > ONE_BYTE_LENGTH_MAX) {
      const fieldStart = this.start(tag);
      this.out.copy(source, start, end);
      this.end(fieldStart);
      return;
    }
    const { out } = this;
    out.reserve(2);
    out.view.setUint8(out.length, tag);
    out.view.setUint8(out.length + 1, length);
    out.length += 2;
    out.copy(source, start, end);
  }

  /** A varint field from 0 to 2^32 - 1. */
  varint(tag: number, value: number): void {
    const { out } = this;
    out.reserve(6);
    out.byte(tag);
    let rest = value >>> 0;
    for (; rest >= 0x80; rest >>>= 7) out.byte((rest & 0x7f) | 0x80);
    out.byte(rest);
  }

  /** A varint field of a signed 64-bit integer. */
  int64(tag: number, value: bigint): void {
    this.int64Halves(tag, lowOf(value), highOf(value));
  }

  /** A varint field of a signed 64-bit integer, given as halves of 32 bits. */
  int64Halves(tag: number, lowHalf: number, highHalf: number): void {
    const { out } = this;
    out.reserve(11);
    out.byte(tag);
    let low = lowHalf >>> 0;
    let high = highHalf >>> 0;
    while (high !== 0 || low >= 0x80) {
      out.byte((low & 0x7f) | 0x80);
      low = ((low >>> 7) | (high << 25)) >>> 0;
      high >>>= 7;
    }
    out.byte(low);
  }

  fixed64(tag: number, value: bigint): void {
    this.fixed64Halves(tag, lowOf(value), highOf(value));
  }

  fixed64Halves(tag: number, low: number, high: number): void {
    const { out } = this;
    out.reserve(9);
    const at = out.length;
    out.view.setUint8(at, tag);
    out.view.setUint32(at + 1, low, true);
    out.view.setUint32(at + 5, high, true);
    out.length = at + 9;
  }

  /** Also takes tags of two bytes: fields from number 16. */
  fixed32(tag: number, value: number): void {
    const { out } = this;
    out.reserve(6);
    if (tag > 0x7f) out.byte((tag & 0x7f) | 0x80);
    out.view.setUint8(out.length, tag > 0x7f ? tag >> 7 : tag);
    out.view.setUint32(out.length + 1, value, true);
    out.length += 5;
  }

  double(tag: number, value: number): void {
    const { out } = this;
    out.reserve(9);
    out.view.setUint8(out.length, tag);
    out.view.setFloat64(out.length + 1, value, true);
    out.length += 9;
  }

  bytes(tag: number, bytes: Uint8Array): void {
    const start = this.start(tag);
    this.out.append(bytes);
    this.end(start);
  }

  /** The bytes of hexadecimal text, in either case; false when it is none. */
  hex(tag: number, text: string): boolean {
    const scratch = this.#scratch;
    scratch.clear();
    scratch.text(text);
    return this.hexOf(tag, scratch.view, 0, scratch.length);
  }

  /** The bytes of the hexadecimal text in `source` from `start` to `end`; false when it is none. */
  hexOf(tag: number, source: DataView, start: number, end: number): boolean {
    const count = (end - start) >> 1;
    const fieldStart = this.start(tag);
    const { out } = this;
    out.reserve(count);
    const { view } = out;
    let invalid = (end - start) & 1;
    for (let i = 0; i < count; i += 1) {
      const high = nibble(source.getUint8(start + 2 * i));
      const low = nibble(source.getUint8(start + 2 * i + 1));
      invalid |= (high | low) & 0xf0;
      view.setUint8(fieldStart + i, (high << 4) | low);
    }
    out.length += count;
    this.end(fieldStart);
    return invalid === 0;
  }
}

function lowOf(value: bigint): number {
  return Number(BigInt.asUintN(32, value));
}

function highOf(value: bigint): number {
  return Number(BigInt.asUintN(32, value >> 32n));
}

function nibble(code: number): number {
  return code < NIBBLES.length ? NIBBLES[code] as number : 0xff;
}
