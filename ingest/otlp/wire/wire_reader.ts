/**
 * The protobuf wire format by position: a cursor over the bytes of one request.
 *
 * Invariants: no read passes the end that the caller is within; every refusal is `invalid_argument`
 * naming the offset. Groups are refused: no version of OTLP has them. A field whose number is known
 * but whose wire type differs is unknown to the caller, as the format says. Source:
 * https://protobuf.dev/programming-guides/encoding
 */

import { viewOf } from "../../../shared/base/bytes.ts";
import { OperatingError } from "../../../shared/base/errors.ts";

const EMPTY = new Uint8Array(0);

export class WireReader {
  bytes: Uint8Array = EMPTY;
  /** Over the same memory as `bytes`. */
  view: DataView = new DataView(EMPTY.buffer);
  pos = 0;
  /** Halves of the 64-bit value read last. */
  low = 0;
  high = 0;

  open(bytes: Uint8Array): void {
    const { buffer, byteOffset, byteLength } = bytes;
    // What unpacks gives a Buffer, whose `slice` is no copy: what was kept of a request would go
    // with it.
    this.bytes = new Uint8Array(buffer, byteOffset, byteLength);
    this.pos = 0;
    this.view = viewOf(bytes);
  }

  /** Lets go of the request's bytes. */
  close(): void {
    this.open(EMPTY);
  }

  /** The next tag (field number and wire type). */
  tag(end: number): number {
    const byte = this.bytes[this.pos] as number;
    if (byte < 0x80 && this.pos < end) {
      this.pos += 1;
      return byte;
    }
    return this.#varint32(end, { lastByteMax: 0x0f, what: "tag" });
  }

  /** Enters a length-delimited field: its end. The cursor stands at its start. */
  span(end: number): number {
    const byte = this.bytes[this.pos] as number;
    let length = byte;
    if (byte < 0x80 && this.pos < end) this.pos += 1;
    else length = this.#varint32(end, { lastByteMax: 0x07, what: "length" });
    const spanEnd = this.pos + length;
    if (spanEnd > end) {
      throw this.refusal(`a field of ${length} bytes ends past its message, which ends at ${end}`);
    }
    return spanEnd;
  }

  /**
   * Enters the next length-delimited field with the tag `wanted`, passing over others: its end, or
   * -1 when none is left.
   */
  next(wanted: number, end: number): number {
    while (this.pos < end) {
      const tag = this.tag(end);
      if (tag === wanted) return this.span(end);
      this.skip(tag, end);
    }
    return -1;
  }

  /** Reads a varint into `low` and `high`, cut to 64 bits. */
  varint(end: number): void {
    const first = this.bytes[this.pos] as number;
    if (first < 0x80 && this.pos < end) {
      this.pos += 1;
      this.low = first;
      this.high = 0;
      return;
    }
    let low = 0;
    let high = 0;
    for (let i = 0; i < 10; i += 1) {
      const byte = this.#byte(end);
      const bits = byte & 0x7f;
      if (i < 4) low |= bits << (7 * i);
      else if (i === 4) {
        low |= bits << 28;
        high = bits >> 4;
      } else high |= bits << (7 * i - 32);
      if (byte < 0x80) {
        this.low = low;
        this.high = high;
        return;
      }
    }
    throw this.refusal("a varint has more than 10 bytes");
  }

  bool(end: number): boolean {
    let value = false;
    for (let i = 0; i < 10; i += 1) {
      const byte = this.#byte(end);
      if ((byte & 0x7f) !== 0) value = true;
      if (byte < 0x80) return value;
    }
    throw this.refusal("a varint has more than 10 bytes");
  }

  /** Reads 8 bytes into `low` and `high`. */
  fixed64(end: number): void {
    const at = this.#fixed(8, end);
    this.low = this.view.getInt32(at, true);
    this.high = this.view.getInt32(at + 4, true);
  }

  double(end: number): number {
    return this.view.getFloat64(this.#fixed(8, end), true);
  }

  /** Unsigned. */
  fixed32(end: number): number {
    return this.view.getUint32(this.#fixed(4, end), true);
  }

  /** Passes over the value of the field with this tag. */
  skip(tag: number, end: number): void {
    if (tag >>> 3 === 0) throw this.refusal("a field has number 0");
    switch (tag & 7) {
      case 0:
        while (this.#byte(end) >= 0x80);
        return;
      case 1:
        this.#fixed(8, end);
        return;
      case 2:
        this.pos = this.span(end);
        return;
      case 5:
        this.#fixed(4, end);
        return;
      default:
        throw this.refusal(`field ${tag >>> 3} has wire type ${tag & 7}`);
    }
  }

  refusal(what: string): OperatingError {
    return new OperatingError(
      "invalid_argument",
      `Cannot decode the OTLP request at byte ${this.pos} of ${this.bytes.length}: ${what}; ` +
        "send one whole protobuf message",
    );
  }

  #byte(end: number): number {
    if (this.pos >= end) throw this.refusal(`a value is cut off at ${end}`);
    const byte = this.bytes[this.pos] as number;
    this.pos += 1;
    return byte;
  }

  #fixed(length: number, end: number): number {
    const at = this.pos;
    if (at + length > end) throw this.refusal(`a value of ${length} bytes is cut off at ${end}`);
    this.pos = at + length;
    return at;
  }

  /** An unsigned varint of at most 5 bytes, whose fifth is at most `lastByteMax`. */
  #varint32(end: number, { lastByteMax, what }: { lastByteMax: number; what: string }): number {
    let value = 0;
    for (let i = 0; i < 4; i += 1) {
      const byte = this.#byte(end);
      value |= (byte & 0x7f) << (7 * i);
      if (byte < 0x80) return value;
    }
    const byte = this.#byte(end);
    if (byte > lastByteMax) throw this.refusal(`a ${what} has more than 32 bits`);
    return (value | (byte << 28)) >>> 0;
  }
}
