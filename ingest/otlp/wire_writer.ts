/**
 * The protobuf wire format, written forward into one buffer: a message's length is filled in when it ends, as a
 * varint of four bytes (padded, which the format allows), so that nothing is measured beforehand.
 */

import { assert } from "../../shared/base/assert.ts";
import { ByteBuilder } from "../../shared/columns/byte_builder.ts";

const LENGTH_BYTES = 4;
const LENGTH_MAX = 2 ** 28 - 1;
/** A string of so many units has fewer than 128 bytes: its length takes one. */
const SHORT_TEXT_MAX = 42;

/** The value of each hexadecimal digit by its character code; 0xff for what is none. */
const NIBBLES = Uint8Array.from({ length: 128 }, (_, code) => {
  const digit = "0123456789abcdef".indexOf(String.fromCharCode(code).toLowerCase());
  return digit < 0 ? 0xff : digit;
});

export class WireWriter {
  readonly out = new ByteBuilder(64 * 1024);

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
    this.out.byte(tag);
    let rest = BigInt.asUintN(64, value);
    for (; rest >= 0x80n; rest >>= 7n) this.out.byte(Number(rest & 0x7fn) | 0x80);
    this.out.byte(Number(rest));
  }

  fixed64(tag: number, value: bigint): void {
    const { out } = this;
    out.reserve(9);
    out.view.setUint8(out.length, tag);
    out.view.setBigUint64(out.length + 1, value, true);
    out.length += 9;
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
    const start = this.start(tag);
    const { out } = this;
    const count = text.length >> 1;
    out.reserve(count);
    let invalid = text.length & 1;
    for (let i = 0; i < count; i += 1) {
      const high = nibble(text.charCodeAt(2 * i));
      const low = nibble(text.charCodeAt(2 * i + 1));
      invalid |= (high | low) & 0xf0;
      out.view.setUint8(start + i, (high << 4) | low);
    }
    out.length += count;
    this.end(start);
    return invalid === 0;
  }
}

function nibble(code: number): number {
  return code < NIBBLES.length ? NIBBLES[code] as number : 0xff;
}
