/**
 * Where in a column of JSON objects the values of some attributes are: one pass over the bytes of
 * each object, for all attributes at once. Those within nested objects are found by their paths
 * (`shared/schema/attribute_path.ts`).
 *
 * An object counts only where all of it is JSON as the strictest reader has it (RFC 8259, no half
 * surrogate pair). What `attr_get` gives for another depends on DuckDB's reader. The first value of
 * a name that occurs twice counts, as there.
 *
 * Objects of a batch mostly have the names of the one before, in its order. So a name is compared
 * with the bytes of the one at its place before, and looked up only where it is another. Nested
 * objects on the way to an attribute are compared with those before them in the same way.
 */

import { ESCAPES } from "../base/json_letters.ts";
import { textOf, utf8, viewOf } from "../base/bytes.ts";
import type { ColumnData } from "../columns/batch.ts";
import { isNull } from "../columns/rows.ts";
import { areSameBytesAt } from "../columns/value_bytes.ts";
import { namesTo } from "../schema/attribute_path.ts";

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
  /** By attribute, in the order that was given, then by row: one of `MEMBER`. */
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
const NO_ATTRIBUTE = -1;
const LITERALS = ["true", "false", "null"].map((text) => utf8(text));
/** What may follow a backslash, but for `u`. */
const IS_ESCAPED = new Uint8Array(256);
for (const letter of utf8(Object.keys(ESCAPES).join(""))) IS_ESCAPED[letter] = 1;

/** A name that leads to attributes. */
interface Member {
  /** Which of the attributes is called so, or `NO_ATTRIBUTE`. */
  attribute: number;
  /** What is looked for in the object that is its value. */
  within: Members | undefined;
  /** The row in which it was met last. */
  row: number;
}

/** The names that are looked for in one object. */
interface Members {
  readonly byName: Map<string, Member>;
  /** Names at their places in the objects before. */
  heads: Head[];
}

/** A name with its quotes and colon, at a place in the objects before. */
interface Head {
  start: number;
  byteLength: number;
  /** Undefined: nothing is looked for by that name. */
  member: Member | undefined;
}

export class MemberScanner {
  readonly #root: Members = { byName: new Map(), heads: [] };
  /** All objects in which something is looked for. */
  readonly #objects: Members[] = [this.#root];
  /** How many attributes are looked for. */
  readonly #count: number;
  #bytes: Uint8Array = new Uint8Array(0);
  #view: DataView = viewOf(this.#bytes);
  #row = 0;
  #at = 0;
  #end = 0;
  /** What the value that was read last is. */
  #kind: number = MEMBER.absent;
  #isEscaped = false;
  #rows = 0;
  #kinds: Uint8Array[] = [];
  #starts: Int32Array[] = [];
  #ends: Int32Array[] = [];

  constructor(attributes: readonly string[]) {
    this.#count = attributes.length;
    for (const [at, attribute] of attributes.entries()) this.#lookFor(namesTo(attribute), at);
  }

  #lookFor(names: readonly string[], attribute: number): void {
    let object = this.#root;
    for (const [depth, name] of names.entries()) {
      const member = object.byName.get(name) ??
        { attribute: NO_ATTRIBUTE, within: undefined, row: -1 };
      object.byName.set(name, member);
      if (depth === names.length - 1) member.attribute = attribute;
      else if (member.within === undefined) {
        member.within = { byName: new Map(), heads: [] };
        this.#objects.push(member.within);
      }
      object = member.within ?? object;
    }
  }

  scan(column: ColumnData, rows: number): FoundMembers {
    this.#begin(column.values, rows);
    const { offsets } = column;
    let isCertain = true;
    for (let row = 0; row < rows && offsets !== null; row += 1) {
      if (column.nullCount > 0 && isNull(column, row)) continue;
      this.#at = offsets[row] as number;
      this.#end = offsets[row + 1] as number;
      this.#row = row;
      if (this.#next() === BRACE && this.#object(this.#root, 0) && this.#next() === -1) continue;
      isCertain = false;
      for (const kinds of this.#kinds) kinds[row] = MEMBER.absent;
    }
    return { isCertain, kinds: this.#kinds, starts: this.#starts, ends: this.#ends };
  }

  #begin(bytes: Uint8Array, rows: number): void {
    if (bytes !== this.#bytes) {
      this.#bytes = bytes;
      this.#view = viewOf(bytes);
      for (const object of this.#objects) object.heads = [];
    }
    if (rows > this.#rows) {
      const arrays = <T>(make: () => T) => Array.from({ length: this.#count }, make);
      this.#rows = rows;
      this.#kinds = arrays(() => new Uint8Array(rows));
      this.#starts = arrays(() => new Int32Array(rows));
      this.#ends = arrays(() => new Int32Array(rows));
    } else for (const kinds of this.#kinds) kinds.fill(MEMBER.absent);
    for (const { byName } of this.#objects) for (const member of byName.values()) member.row = -1;
  }

  /** Steps behind the object at the place and notes what it has of `members`; false: it is none. */
  #object(members: Members, depth: number): boolean {
    this.#at += 1;
    if (this.#next() === BRACE_END) {
      this.#at += 1;
      return true;
    }
    for (let place = 0;; place += 1) {
      if (!this.#member(members, place, depth)) return false;
      const after = this.#next();
      this.#at += 1;
      if (after === BRACE_END) return true;
      if (after !== COMMA || this.#next() !== QUOTE) return false;
    }
  }

  /** Steps behind a name and its value; false: they are none. */
  #member(members: Members, place: number, depth: number): boolean {
    const head = this.#head(members, place);
    if (head === undefined) return false;
    const first = this.#next();
    const row = this.#row;
    const { member } = head;
    if (member === undefined || member.row === row) return this.#value(depth);
    member.row = row;
    const start = this.#at;
    const { within, attribute } = member;
    if (within === undefined || first !== BRACE) {
      if (!this.#value(depth)) return false;
    } else {
      if (!this.#object(within, depth + 1)) return false;
      this.#kind = MEMBER.nested;
    }
    if (attribute === NO_ATTRIBUTE) return true;
    const quotes = this.#kind === MEMBER.text ? 1 : 0;
    (this.#kinds[attribute] as Uint8Array)[row] = this.#kind;
    (this.#starts[attribute] as Int32Array)[row] = start + quotes;
    (this.#ends[attribute] as Int32Array)[row] = this.#at - quotes;
    return true;
  }

  /** Steps behind a name and its colon; undefined: there is none. */
  #head({ byName, heads }: Members, place: number): Head | undefined {
    const known = heads[place];
    if (known !== undefined && this.#at + known.byteLength <= this.#end) {
      const { start, byteLength } = known;
      if (areSameBytesAt(this.#view, start, this.#view, this.#at, byteLength)) {
        this.#at += byteLength;
        return known;
      }
    }
    const start = this.#at;
    if (this.#next() !== QUOTE || !this.#string()) return undefined;
    const quoted = this.#bytes.subarray(start, this.#at);
    const text = this.#isEscaped ? parsed(quoted) : textOf(quoted.subarray(1, -1));
    if (this.#next() !== COLON) return undefined;
    this.#at += 1;
    const head = { start, byteLength: this.#at - start, member: byName.get(text) };
    if (place < HEADS_MAX) heads[place] = head;
    return head;
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
