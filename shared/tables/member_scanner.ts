/**
 * Where in a column of JSON objects the values of some members are: one pass over the bytes of each
 * object, for all names at once.
 *
 * An object counts only where all of it is JSON as the strictest reader has it (RFC 8259, no half
 * surrogate pair). What `attr_get` gives for another depends on DuckDB's reader. The first value of
 * a name that occurs twice counts, as there.
 *
 * Objects of a batch mostly have the names of the one before, in its order. So a name is compared
 * with the bytes of the one at its place before, and looked up only where it is another.
 */

import { ESCAPES } from "../base/json_letters.ts";
import { textOf, utf8, viewOf } from "../base/bytes.ts";
import type { ColumnData } from "../columns/batch.ts";
import { isNull } from "../columns/rows.ts";
import { areSameBytesAt } from "../columns/value_bytes.ts";

/** What a value is; null counts as absent. */
export const MEMBER = {
  absent: 0,
  /** The string's bytes, without quotes. */
  text: 1,
  /** With escapes, and the quotes: `JSON.parse` reads it. */
  escaped: 2,
  /** Digits, or a minus and digits: the number as it is written, without -0. */
  integer: 3,
  /** Any other number as it is written. */
  number: 4,
  bool: 5,
  /** An array or an object. */
  nested: 6,
} as const;

/** What was found in the rows of a column. The next `scan` uses its memory again. */
export interface FoundMembers {
  /** False: in some row there is text of which nothing is known; all of that row is absent. */
  readonly isCertain: boolean;
  /** By name, in the order of `names`, then by row: one of `MEMBER`. */
  readonly kinds: readonly Uint8Array[];
  /** Where the values are in the column's bytes. */
  readonly starts: readonly Int32Array[];
  readonly ends: readonly Int32Array[];
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const BRACE = 0x7b;
const BRACE_END = 0x7d;
const BRACKET = 0x5b;
const BRACKET_END = 0x5d;
const SPACE = 0x20;
const LETTER_E = 0x65;
const LETTER_U = 0x75;
const LOWER = 0x20;

/** Deeper values are not looked through. */
const DEPTH_MAX = 64;
/** So many places of a name within an object are remembered. */
const HEADS_MAX = 256;
const NO_NAME = -1;
const LITERALS = ["true", "false", "null"].map((text) => utf8(text));
/** What may follow a backslash, but for `u`. */
const IS_ESCAPED = new Uint8Array(256);
for (const letter of utf8(Object.keys(ESCAPES).join(""))) IS_ESCAPED[letter] = 1;

/** A name with its quotes and colon, at a place in the objects before. */
interface Head {
  start: number;
  byteLength: number;
  /** Which of the names it is, or `NO_NAME`. */
  name: number;
}

export class MemberScanner {
  readonly #numbers: ReadonlyMap<string, number>;
  #bytes: Uint8Array = new Uint8Array(0);
  #view: DataView = viewOf(this.#bytes);
  #heads: Head[] = [];
  #at = 0;
  #end = 0;
  /** What the value that was read last is. */
  #kind: number = MEMBER.absent;
  #isEscaped = false;
  #rows = 0;
  #kinds: Uint8Array[] = [];
  #starts: Int32Array[] = [];
  #ends: Int32Array[] = [];
  /** By name: the row in which it was met last. */
  readonly #met: Int32Array;

  constructor(names: readonly string[]) {
    this.#numbers = new Map(names.map((name, at) => [name, at]));
    this.#met = new Int32Array(names.length);
  }

  scan(column: ColumnData, rows: number): FoundMembers {
    this.#begin(column.values, rows);
    const { offsets } = column;
    let isCertain = true;
    for (let row = 0; row < rows && offsets !== null; row += 1) {
      if (column.nullCount > 0 && isNull(column, row)) continue;
      this.#at = offsets[row] as number;
      this.#end = offsets[row + 1] as number;
      if (this.#object(row)) continue;
      isCertain = false;
      for (const kinds of this.#kinds) kinds[row] = MEMBER.absent;
    }
    return { isCertain, kinds: this.#kinds, starts: this.#starts, ends: this.#ends };
  }

  #begin(bytes: Uint8Array, rows: number): void {
    if (bytes !== this.#bytes) {
      this.#bytes = bytes;
      this.#view = viewOf(bytes);
      this.#heads = [];
    }
    if (rows > this.#rows) {
      const names = [...this.#numbers];
      this.#rows = rows;
      this.#kinds = names.map(() => new Uint8Array(rows));
      this.#starts = names.map(() => new Int32Array(rows));
      this.#ends = names.map(() => new Int32Array(rows));
    } else for (const kinds of this.#kinds) kinds.fill(MEMBER.absent);
    this.#met.fill(-1);
  }

  /** Whether the bytes are an object; what it has of the names is noted for `row`. */
  #object(row: number): boolean {
    if (this.#next() !== BRACE) return false;
    this.#at += 1;
    if (this.#next() === BRACE_END) {
      this.#at += 1;
      return this.#next() === -1;
    }
    for (let place = 0;; place += 1) {
      const name = this.#name(place);
      if (name === undefined || !this.#member(name, row)) return false;
      const after = this.#next();
      this.#at += 1;
      if (after === BRACE_END) return this.#next() === -1;
      if (after !== COMMA || this.#next() !== QUOTE) return false;
    }
  }

  #member(name: number, row: number): boolean {
    this.#next();
    const start = this.#at;
    if (!this.#value(0)) return false;
    if (name === NO_NAME || this.#met[name] === row) return true;
    this.#met[name] = row;
    const quotes = this.#kind === MEMBER.text ? 1 : 0;
    (this.#kinds[name] as Uint8Array)[row] = this.#kind;
    (this.#starts[name] as Int32Array)[row] = start + quotes;
    (this.#ends[name] as Int32Array)[row] = this.#at - quotes;
    return true;
  }

  /** Steps behind a name and its colon. Returns which of the names it is; undefined: it is none. */
  #name(place: number): number | undefined {
    const head = this.#heads[place];
    if (head !== undefined && this.#at + head.byteLength <= this.#end) {
      const { start, byteLength, name } = head;
      if (areSameBytesAt(this.#view, start, this.#view, this.#at, byteLength)) {
        this.#at += byteLength;
        return name;
      }
    }
    const start = this.#at;
    if (this.#next() !== QUOTE || !this.#string()) return undefined;
    const quoted = this.#bytes.subarray(start, this.#at);
    const text = this.#isEscaped ? parsed(quoted) : textOf(quoted.subarray(1, -1));
    if (this.#next() !== COLON) return undefined;
    this.#at += 1;
    const name = this.#numbers.get(text) ?? NO_NAME;
    if (place < HEADS_MAX) {
      this.#heads[place] = { start, byteLength: this.#at - start, name };
    }
    return name;
  }

  /** Steps behind a value, whatever it is, and notes its kind; false: it is none. */
  #value(depth: number): boolean {
    const first = this.#at < this.#end ? this.#bytes[this.#at] as number : -1;
    if (first === QUOTE) {
      if (!this.#string()) return false;
      this.#kind = this.#isEscaped ? MEMBER.escaped : MEMBER.text;
      return true;
    }
    if (first === MINUS || (first >= ZERO && first <= NINE)) return this.#number(first === MINUS);
    if (first !== BRACE && first !== BRACKET) return this.#literal();
    if (depth === DEPTH_MAX) return false;
    this.#at += 1;
    const isRead = first === BRACE ? this.#membersOf(depth + 1) : this.#elements(depth + 1);
    this.#kind = MEMBER.nested;
    return isRead;
  }

  #membersOf(depth: number): boolean {
    if (this.#next() === BRACE_END) {
      this.#at += 1;
      return true;
    }
    for (;;) {
      if (this.#next() !== QUOTE || !this.#string() || this.#next() !== COLON) return false;
      this.#at += 1;
      this.#next();
      if (!this.#value(depth)) return false;
      const after = this.#next();
      this.#at += 1;
      if (after === BRACE_END) return true;
      if (after !== COMMA) return false;
    }
  }

  #elements(depth: number): boolean {
    if (this.#next() === BRACKET_END) {
      this.#at += 1;
      return true;
    }
    for (;;) {
      this.#next();
      if (!this.#value(depth)) return false;
      const after = this.#next();
      this.#at += 1;
      if (after === BRACKET_END) return true;
      if (after !== COMMA) return false;
    }
  }

  /** Steps behind the string at the place, and notes whether it has escapes. */
  #string(): boolean {
    const bytes = this.#bytes;
    const end = this.#end;
    this.#isEscaped = false;
    for (let at = this.#at + 1; at < end; at += 1) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) {
        this.#at = at + 1;
        return true;
      }
      if (byte < SPACE) return false;
      if (byte !== BACKSLASH) continue;
      this.#isEscaped = true;
      const length = this.#escapeLength(at + 1);
      if (length === 0) return false;
      at += length;
    }
    return false;
  }

  /** Bytes of the escape behind a backslash; 0: it is none that every reader knows. */
  #escapeLength(at: number): number {
    if (at >= this.#end) return 0;
    const letter = this.#bytes[at] as number;
    if (letter !== LETTER_U) return IS_ESCAPED[letter] as number;
    const unit = this.#codeUnit(at);
    if (unit === undefined) return 0;
    if (unit < 0xd800 || unit > 0xdfff) return 5;
    const isHigh = unit <= 0xdbff && this.#bytes[at + 5] === BACKSLASH;
    const low = isHigh ? this.#codeUnit(at + 6) : undefined;
    return low !== undefined && low >= 0xdc00 && low <= 0xdfff ? 11 : 0;
  }

  /** What `uXXXX` at `at` stands for. */
  #codeUnit(at: number): number | undefined {
    if (at + 5 > this.#end || this.#bytes[at] !== LETTER_U) return undefined;
    let unit = 0;
    for (let digit = at + 1; digit < at + 5; digit += 1) {
      const value = hexDigit(this.#bytes[digit] as number);
      if (value < 0) return undefined;
      unit = 16 * unit + value;
    }
    return unit;
  }

  #number(isNegative: boolean): boolean {
    const digits = isNegative ? this.#at + 1 : this.#at;
    this.#at = digits;
    if (!this.#digits()) return false;
    const isZero = this.#bytes[digits] === ZERO;
    if (isZero && this.#at > digits + 1) return false;
    this.#kind = isZero && isNegative ? MEMBER.number : MEMBER.integer;
    if (this.#peek() === DOT) {
      this.#kind = MEMBER.number;
      this.#at += 1;
      if (!this.#digits()) return false;
    }
    if ((this.#peek() | LOWER) !== LETTER_E) return true;
    this.#kind = MEMBER.number;
    this.#at += 1;
    const sign = this.#peek();
    if (sign === MINUS || sign === PLUS) this.#at += 1;
    return this.#digits();
  }

  /** Steps behind digits; false: there is none. */
  #digits(): boolean {
    const start = this.#at;
    for (; this.#at < this.#end; this.#at += 1) {
      const byte = this.#bytes[this.#at] as number;
      if (byte < ZERO || byte > NINE) break;
    }
    return this.#at > start;
  }

  #literal(): boolean {
    for (const [place, letters] of LITERALS.entries()) {
      const end = this.#at + letters.length;
      if (end > this.#end || !letters.every((byte, at) => this.#bytes[this.#at + at] === byte)) {
        continue;
      }
      this.#at = end;
      this.#kind = place === 2 ? MEMBER.absent : MEMBER.bool;
      return true;
    }
    return false;
  }

  #peek(): number {
    return this.#at < this.#end ? this.#bytes[this.#at] as number : -1;
  }

  /** The byte at the place, once blanks are left behind; -1: the end. */
  #next(): number {
    for (; this.#at < this.#end; this.#at += 1) {
      const byte = this.#bytes[this.#at] as number;
      if (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
    }
    return -1;
  }
}

/** The text of a JSON string that the scanner accepted. */
export function parsed(json: Uint8Array): string {
  return String(JSON.parse(textOf(json)));
}

function hexDigit(byte: number): number {
  if (byte >= ZERO && byte <= NINE) return byte - ZERO;
  const letter = byte | LOWER;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
