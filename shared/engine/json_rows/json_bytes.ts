/** Rows of JSON as bytes. */

import { utf8, viewOf } from "../../base/bytes.ts";
import { BYTES_BEHIND } from "../../parquet/reader/column_pages.ts";

const QUOTE = 0x22;
const MINUS = 0x2d;
const ZERO = 0x30;
const BILLION = 1_000_000_000;

/** Few bytes that are copied again and again. */
export class FixedBytes {
  readonly view: DataView;
  readonly length: number;

  constructor(text: string) {
    const bytes = utf8(text);
    const padded = new Uint8Array(bytes.length + BYTES_BEHIND);
    padded.set(bytes);
    this.view = viewOf(padded);
    this.length = bytes.length;
  }
}

/** Where rows are written. Who writes sees to it that there is room, and `BYTES_BEHIND` more. */
export class JsonBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly #view: DataView;
  at = 0;

  constructor(length: number) {
    this.bytes = new Uint8Array(length + BYTES_BEHIND);
    this.#view = viewOf(this.bytes);
  }

  get left(): number {
    return this.bytes.length - BYTES_BEHIND - this.at;
  }

  piece({ view, length }: FixedBytes): void {
    this.copy(view, 0, length);
  }

  /** Copies many bytes. */
  set(bytes: Uint8Array): void {
    this.bytes.set(bytes, this.at);
    this.at += bytes.length;
  }

  /** Copies few bytes, reading some behind them. */
  copy(from: DataView, start: number, end: number): void {
    const view = this.#view;
    let at = this.at;
    for (let source = start; source < end; source += 8, at += 8) {
      view.setBigInt64(at, from.getBigInt64(source, true), true);
    }
    this.at += end - start;
  }

  quote(): void {
    this.bytes[this.at++] = QUOTE;
  }

  /** An integer of 64 bits by its halves. */
  integer(low: number, high: number): void {
    if (high < 0) {
      this.bytes[this.at++] = MINUS;
      low = -low | 0;
      high = low === 0 ? -high | 0 : ~high;
    }
    // In digits to the base of 2^16, so that each step is exact.
    const top = high >>> 0;
    const middle = (top % BILLION) * 0x1_0000 + (low >>> 16);
    const bottom = (middle % BILLION) * 0x1_0000 + (low & 0xffff);
    const billions = Math.floor(top / BILLION) * 0x1_0000_0000 +
      Math.floor(middle / BILLION) * 0x1_0000 + Math.floor(bottom / BILLION);
    const rest = bottom % BILLION;
    if (billions === 0) return this.#number(rest);
    if (billions < BILLION) this.#number(billions);
    else {
      this.#number(Math.floor(billions / BILLION));
      this.digits(billions % BILLION, 9);
    }
    this.digits(rest, 9);
  }

  /** The last `count` digits of a number below 2^31. */
  digits(number: number, count: number): void {
    const { bytes } = this;
    let left = number | 0;
    for (let at = this.at + count - 1; at >= this.at; at -= 1) {
      const tenth = (left / 10) | 0;
      bytes[at] = ZERO + left - 10 * tenth;
      left = tenth;
    }
    this.at += count;
  }

  #number(number: number): void {
    let count = 1;
    for (let power = 10; power <= number; power *= 10) count += 1;
    this.digits(number, count);
  }
}
