/**
 * A cursor over the bytes of a JSON text that is known to be UTF-8, for decoding without a tree of
 * objects.
 *
 * What it accepts it reads as `JSON.parse` does. Whatever is not in the common form, malformed text
 * included, throws `UNUSUAL`: the caller then decodes the text in another way, which also finds the
 * words for a refusal.
 */

import {
  BACKSLASH,
  COMMA,
  MINUS,
  NINE,
  POINT,
  QUOTE,
  ZERO,
} from "../../../shared/base/json_letters.ts";
import { textOf, viewOf } from "../../../shared/base/bytes.ts";
import { needsEscape } from "../../../shared/columns/json_writer.ts";

/** Thrown where the scanner leaves a text to `JSON.parse`. */
export const UNUSUAL = new Error("the JSON text is not in the common form");

/** So many digits make an exact double, and so do they over a power of ten. */
const EXACT_DIGITS_MAX = 15;
/** Fewer than 2^64. */
const DIGITS_MAX = 19;
const BILLION = 1_000_000_000;
const POWERS_OF_TEN = Float64Array.from({ length: EXACT_DIGITS_MAX + 1 }, (_, i) => 10 ** i);
const EMPTY = new Uint8Array(0);

export class JsonScanner {
  bytes: Uint8Array = EMPTY;
  /** Over the same memory as `bytes`. */
  view: DataView = new DataView(EMPTY.buffer);
  pos = 0;
  /** The string read last: its bytes between the quotes, and whether they hold escapes. */
  textStart = 0;
  textEnd = 0;
  escaped = false;
  /** Halves of the integer read last, of its absolute value; and its sign. */
  low = 0;
  high = 0;
  negative = false;

  open(bytes: Uint8Array): void {
    this.bytes = bytes;
    this.view = viewOf(bytes);
    this.pos = 0;
  }

  /** Lets go of the text. */
  close(): void {
    this.open(EMPTY);
  }

  /** The next byte that is no white space, where the cursor then stands; -1 at the end. */
  peek(): number {
    const { bytes } = this;
    for (; this.pos < bytes.length; this.pos += 1) {
      const byte = bytes[this.pos] as number;
      if (byte > 0x20 || !isSpace(byte)) return byte;
    }
    return -1;
  }

  /** Passes over `byte`, and white space before it. */
  expect(byte: number): void {
    if (this.peek() !== byte) throw UNUSUAL;
    this.pos += 1;
  }

  /** After an element: true when another follows, false when `close` ends them. */
  follows(close: number): boolean {
    const byte = this.peek();
    this.pos += 1;
    if (byte === COMMA) return true;
    if (byte !== close) throw UNUSUAL;
    return false;
  }

  /** After `open`: true when the array or object has an element. */
  begins(open: number, close: number): boolean {
    this.expect(open);
    if (this.peek() !== close) return true;
    this.pos += 1;
    return false;
  }

  /** Reads a string into `textStart`, `textEnd` and `escaped`; words of four bytes at a time. */
  string(): void {
    this.expect(QUOTE);
    const { bytes, view } = this;
    let at = this.pos;
    this.textStart = at;
    this.escaped = false;
    const wordsEnd = bytes.length - 4;
    while (at <= wordsEnd && !needsEscape(view.getInt32(at, true))) at += 4;
    for (; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) {
        this.textEnd = at;
        this.pos = at + 1;
        return;
      }
      if (byte < 0x20) throw UNUSUAL;
      if (byte === BACKSLASH) {
        this.escaped = true;
        at += 1;
      }
    }
    throw UNUSUAL;
  }

  /** The string read last, its escapes resolved. */
  unescaped(): string {
    return JSON.parse(textOf(this.bytes.subarray(this.textStart - 1, this.textEnd + 1)));
  }

  /**
   * Reads an integer of at most 19 digits, as a number or as a string, into `low`, `high` and
   * `negative`.
   */
  integer(): void {
    const quoted = this.peek() === QUOTE;
    if (quoted) this.pos += 1;
    const { bytes } = this;
    this.negative = bytes[this.pos] === MINUS;
    if (this.negative) this.pos += 1;
    const start = this.pos;
    const end = this.#digitsEnd();
    if (end === start || end - start > DIGITS_MAX) throw UNUSUAL;
    this.pos = end;
    if (quoted) {
      if (bytes[end] !== QUOTE) throw UNUSUAL;
      this.pos = end + 1;
    } else if (hasLeadingZero(bytes, start, end)) throw UNUSUAL;
    const split = Math.max(start, end - 9);
    this.#halves(this.#digits(start, split), this.#digits(split, end));
  }

  /** An integer from `min` to `max`, which a double holds; a number, no string. */
  int32(min: number, max: number): number {
    if (this.peek() === QUOTE) throw UNUSUAL;
    this.integer();
    if (this.high !== 0) throw UNUSUAL;
    const value = this.negative ? -this.low : this.low;
    if (value < min || value > max) throw UNUSUAL;
    return value;
  }

  /** A number, no string, that a double holds. */
  double(): number {
    const value = this.#double();
    if (!Number.isFinite(value)) throw UNUSUAL;
    return value;
  }

  #double(): number {
    this.peek();
    const { bytes } = this;
    const start = this.pos;
    const negative = bytes[start] === MINUS;
    if (negative) this.pos += 1;
    const wholeStart = this.pos;
    const wholeEnd = this.#digitsEnd();
    let end = wholeEnd;
    let value = this.#digits(wholeStart, wholeEnd);
    let digits = wholeEnd - wholeStart;
    if (bytes[wholeEnd] === POINT) {
      this.pos = wholeEnd + 1;
      end = this.#digitsEnd();
      const places = end - this.pos;
      if (places === 0) throw UNUSUAL;
      digits += places;
      if (digits <= EXACT_DIGITS_MAX) {
        const power = POWERS_OF_TEN[places] as number;
        value = (value * power + this.#digits(this.pos, end)) / power;
      }
    }
    this.pos = end;
    if (digits > EXACT_DIGITS_MAX || isExponent(bytes[end])) return this.#anyDouble(start);
    if (wholeEnd === wholeStart || hasLeadingZero(bytes, wholeStart, wholeEnd)) throw UNUSUAL;
    return negative ? -value : value;
  }

  /** The number from `start`, by `JSON.parse`, which throws for what is none. */
  #anyDouble(start: number): number {
    const { bytes } = this;
    let end = start;
    while (end < bytes.length && isNumeric(bytes[end] as number)) end += 1;
    this.pos = end;
    return JSON.parse(textOf(bytes.subarray(start, end)));
  }

  #digitsEnd(): number {
    const { bytes } = this;
    let end = this.pos;
    while (end < bytes.length && isDigit(bytes[end] as number)) end += 1;
    return end;
  }

  #digits(start: number, end: number): number {
    const { bytes } = this;
    let value = 0;
    for (let at = start; at < end; at += 1) value = 10 * value + (bytes[at] as number) - ZERO;
    return value;
  }

  /**
   * Sets the halves of `billions` × 10^9 + `rest`; `billions` is taken apart so that each step is
   * exact.
   */
  #halves(billions: number, rest: number): void {
    const top = Math.floor(billions / 0x1_0000);
    const upper = top * BILLION;
    const upperTop = Math.floor(upper / 0x1_0000);
    const lower = (billions - top * 0x1_0000) * BILLION + rest +
      (upper - upperTop * 0x1_0000) * 0x1_0000;
    const carry = Math.floor(lower / 0x1_0000_0000);
    this.low = lower - carry * 0x1_0000_0000;
    this.high = upperTop + carry;
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE;
}

function isExponent(byte: number | undefined): boolean {
  return byte === 0x65 || byte === 0x45;
}

function isNumeric(byte: number): boolean {
  return isDigit(byte) || isExponent(byte) || byte === POINT || byte === MINUS ||
    byte === 0x2b;
}

/** JSON has no such numbers. */
function hasLeadingZero(bytes: Uint8Array, start: number, end: number): boolean {
  return end - start > 1 && bytes[start] === ZERO;
}
