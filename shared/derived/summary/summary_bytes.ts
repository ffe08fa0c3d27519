/**
 * Numbers to bytes and back, for the blobs of this folder (README.md): every read is bounded by the
 * blob's end.
 */

import { crc32, viewOf } from "../../base/bytes.ts";
import { OperatingError } from "../../base/errors.ts";
import { unzigzag } from "../../columns/varint.ts";

const VERSION = 1;
const CRC_BYTES = 4;
/** Bytes of the longest varint that is a number here: below 2^53. */
const NUMBER_BYTES_MAX = 8;
/** Bytes of the longest varint that is a bigint here: sums of up to 128 bits. */
const BIGINT_BYTES_MAX = 20;

/** A blob that grows; `finish` puts the checksum behind it. */
export class SummaryWriter {
  #bytes = new Uint8Array(4096);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  constructor() {
    this.u8(VERSION);
  }

  u8(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  /** A whole number from 0 to 2^53 - 1. */
  varint(value: number): void {
    this.#reserve(NUMBER_BYTES_MAX);
    let rest = value;
    while (rest > 0x7f) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#length++] = rest;
  }

  /** A whole number between -2^52 and 2^52. */
  zigzag(value: number): void {
    this.varint(value < 0 ? -2 * value - 1 : 2 * value);
  }

  /** A whole number from 0 on. */
  bigVarint(value: bigint): void {
    this.#reserve(BIGINT_BYTES_MAX);
    let rest = value;
    while (rest > 0x7fn) {
      this.#bytes[this.#length++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#bytes[this.#length++] = Number(rest);
  }

  bigZigzag(value: bigint): void {
    this.bigVarint(value < 0n ? -2n * value - 1n : 2n * value);
  }

  int32(value: number): void {
    this.#reserve(4);
    this.#view.setInt32(this.#length, value, true);
    this.#length += 4;
  }

  int64(value: bigint): void {
    this.#reserve(8);
    this.#view.setBigInt64(this.#length, value, true);
    this.#length += 8;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#length, value, true);
    this.#length += 8;
  }

  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.byteLength);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.byteLength;
  }

  finish(): Uint8Array {
    const body = this.#bytes.subarray(0, this.#length);
    const whole = new Uint8Array(body.byteLength + CRC_BYTES);
    whole.set(body);
    new DataView(whole.buffer).setUint32(body.byteLength, crc32(body), true);
    return whole;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.byteLength) return;
    const grown = new Uint8Array(Math.max(2 * this.#bytes.byteLength, needed));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}

/** Reads what `SummaryWriter` wrote. Everything throws `corrupt` for what it cannot be. */
export class SummaryReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 1;

  /** Checks version and checksum. */
  constructor(blob: Uint8Array) {
    const end = blob.byteLength - CRC_BYTES;
    if (end < 1) throw corruptSummary(`it has ${blob.byteLength} bytes`);
    const view = viewOf(blob);
    if (view.getUint8(0) !== VERSION) {
      throw corruptSummary(`its version is ${view.getUint8(0)}, known is ${VERSION}`);
    }
    this.#bytes = blob.subarray(0, end);
    this.#view = view;
    if (crc32(this.#bytes) !== view.getUint32(end, true)) {
      throw corruptSummary("its checksum does not hold");
    }
  }

  u8(): number {
    this.#take(1);
    return this.#view.getUint8(this.#at - 1);
  }

  varint(): number {
    let value = 0;
    let factor = 1;
    for (let count = 0; count < NUMBER_BYTES_MAX; count += 1) {
      const byte = this.u8();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 0x80;
    }
    throw corruptSummary("a number in it has no end");
  }

  zigzag(): number {
    return unzigzag(this.varint());
  }

  bigVarint(): bigint {
    let value = 0n;
    for (let count = 0; count < BIGINT_BYTES_MAX; count += 1) {
      const byte = this.u8();
      value |= BigInt(byte & 0x7f) << BigInt(7 * count);
      if (byte < 0x80) return value;
    }
    throw corruptSummary("a number in it has no end");
  }

  bigZigzag(): bigint {
    const value = this.bigVarint();
    return value % 2n === 0n ? value / 2n : -(value + 1n) / 2n;
  }

  int32(): number {
    this.#take(4);
    return this.#view.getInt32(this.#at - 4, true);
  }

  int64(): bigint {
    this.#take(8);
    return this.#view.getBigInt64(this.#at - 8, true);
  }

  double(): number {
    this.#take(8);
    return this.#view.getFloat64(this.#at - 8, true);
  }

  bytes(length: number): Uint8Array {
    this.#take(length);
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  /** All bytes that are left. */
  rest(): Uint8Array {
    return this.bytes(this.#bytes.byteLength - this.#at);
  }

  /** A number of things of at least one byte each. */
  count(): number {
    const count = this.varint();
    if (count > this.#bytes.byteLength - this.#at) {
      throw corruptSummary(`it names ${count} entries and is shorter`);
    }
    return count;
  }

  /** Nothing may be left. */
  end(): void {
    if (this.#at !== this.#bytes.byteLength) throw corruptSummary("it is longer than it says");
  }

  #take(length: number): void {
    if (length > this.#bytes.byteLength - this.#at) {
      throw corruptSummary("it is shorter than it says");
    }
    this.#at += length;
  }
}

/** The `corrupt` of a summary that fails a check; its rows are read instead. */
export function corruptSummary(why: string): OperatingError {
  return new OperatingError("corrupt", `Cannot use a summary of a data file: ${why}`, {
    reason: "summary",
  });
}
