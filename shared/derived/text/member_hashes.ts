/**
 * The members of a JSON object, from its bytes, as the hashes of names and values that
 * `values_format.ts` describes.
 *
 * The value is the text that `attr_get` gives: the letters of a string, the JSON of a whole number
 * or a truth value. Null is as if it were absent. For other values only the name is kept. A name
 * that occurs twice gives both values. Anything but a well-formed object is refused as a whole, and
 * so is a string that DuckDB would not read.
 */

import { textOf, utf8, viewOf } from "../../base/bytes.ts";
import { areSameBytesAt } from "../../columns/value_bytes.ts";
import { hashByte, hashBytes, mixed } from "./hash.ts";
import { RISING_DIGITS_MAX, RisingNumbers } from "./rising_numbers.ts";
import type { ColumnHashes } from "./values_format.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const BRACE = 0x7b;
const BRACE_END = 0x7d;
const BRACKET = 0x5b;
const BRACKET_END = 0x5d;
const SPACE = 0x20;

/** More digits are written otherwise by some readers. */
const DIGITS_MAX = 18;
/** Bytes of text that can be part of a number. */
const IS_NUMBER_LETTER = new Uint8Array(256);
for (const letter of utf8("+-.0123456789Ee")) IS_NUMBER_LETTER[letter] = 1;
const LITERALS = ["true", "false", "null"].map((text) => ({ text, bytes: utf8(text) }));

/** Further members of an object are compared with each other. */
const BEFORE_MAX = 64;

/** A member of an object before, in the same bytes. */
interface MemberBefore {
  start: number;
  /** Length of its name with the quotes, and of that with the colon; 0: there was none. */
  nameBytes: number;
  headBytes: number;
  /** What the hashes of its values begin with. */
  nameHash: number;
  /**
   * Length of the whole member, and the hash that was found. Kept for texts only, since numbers may
   * rise; 0 for another value.
   */
  length: number;
  hash: number;
}

export class MemberHashes {
  /** Takes numbers that rise from object to object, which are then in no hash. */
  readonly rising = new RisingNumbers();
  /** Hashes of the last object's members; `count` of them. */
  found = new Uint32Array(64);
  count = 0;
  readonly #hashes: ColumnHashes;
  #bytes: Uint8Array = new Uint8Array(0);
  #view: DataView = new DataView(this.#bytes.buffer);
  /** Members of the objects before, in their order: mostly objects are alike. */
  #before: MemberBefore[] = [];
  #at = 0;
  #end = 0;

  constructor(hashes: ColumnHashes) {
    this.#hashes = hashes;
  }

  /** Whether bytes `start` to `end` are an object whose members are now in `found`. */
  read(bytes: Uint8Array, start: number, end: number): boolean {
    if (bytes !== this.#bytes) this.#begin(bytes);
    this.#at = start;
    this.#end = end;
    this.count = 0;
    if (this.#next() !== BRACE) return false;
    this.#at += 1;
    if (this.#next() === BRACE_END) this.#at += 1;
    else if (!this.#members()) return false;
    return this.#next() === -1;
  }

  #begin(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
    this.#before = [];
  }

  #members(): boolean {
    for (let member = 0;; member += 1) {
      if (this.#next() !== QUOTE) return false;
      if (!this.#isRepeated(member) && !this.#member(member)) return false;
      const after = this.#next();
      if (after !== COMMA && after !== BRACE_END) return false;
      this.#at += 1;
      if (after === BRACE_END) return true;
    }
  }

  /**
   * Steps behind a member that has the same bytes as the one at its place in an object before, and
   * adds its hash.
   */
  #isRepeated(member: number): boolean {
    const before = this.#before[Math.min(member, BEFORE_MAX)];
    if (before === undefined || before.length === 0) return false;
    const end = this.#at + before.length;
    // With what follows: a number may go on.
    if (end >= this.#end) return false;
    if (!areSameBytesAt(this.#view, before.start, this.#view, this.#at, before.length + 1)) {
      return false;
    }
    before.start = this.#at;
    this.#at = end;
    this.#addMixed(before.hash);
    return true;
  }

  #member(member: number): boolean {
    const start = this.#at;
    const before = this.#before[Math.min(member, BEFORE_MAX)] ??= {
      start: 0,
      nameBytes: 0,
      headBytes: 0,
      nameHash: 0,
      length: 0,
      hash: 0,
    };
    if (!this.#isSameHead(before) && !this.#readHead(before)) return false;
    before.start = start;
    before.length = 0;
    const isText = this.#next() === QUOTE;
    if (!this.#value(before.nameHash, start, start + before.nameBytes)) return false;
    if (isText) {
      before.length = this.#at - start;
      before.hash = this.found[this.count - 1] as number;
    }
    return true;
  }

  /** Steps behind name and colon, where they are as before. */
  #isSameHead({ start, headBytes }: MemberBefore): boolean {
    if (headBytes === 0 || this.#at + headBytes > this.#end) return false;
    if (!areSameBytesAt(this.#view, start, this.#view, this.#at, headBytes)) return false;
    this.#at += headBytes;
    return true;
  }

  #readHead(before: MemberBefore): boolean {
    const start = this.#at;
    before.headBytes = 0;
    const name = this.#string(this.#hashes.member);
    before.nameBytes = this.#at - start;
    if (name === undefined || this.#next() !== COLON) return false;
    this.#at += 1;
    before.headBytes = this.#at - start;
    before.nameHash = hashByte(name, 0);
    return true;
  }

  #value(hash: number, nameStart: number, nameEnd: number): boolean {
    const first = this.#next();
    if (first === QUOTE) {
      const value = this.#string(hash);
      if (value !== undefined) this.#add(value);
      return value !== undefined;
    }
    const start = this.#at;
    const isNumber = first === MINUS || (first >= ZERO && first <= NINE);
    const literal = isNumber ? undefined : this.#literal();
    if (literal === "null") return true;
    if (literal !== undefined || (isNumber && this.#wholeNumber())) {
      if (isNumber && this.#isRising(hash, start)) return true;
      let value = hash;
      for (let at = start; at < this.#at; at += 1) {
        value = hashByte(value, this.#bytes[at] as number);
      }
      this.#add(value);
      return true;
    }
    if (!isNumber && !this.#skipNested(first)) return false;
    return this.#addUnknown(nameStart, nameEnd);
  }

  /**
   * Whether the number from `start` on, of the name with this hash, is found without a hash of its
   * own.
   */
  #isRising(name: number, start: number): boolean {
    if (this.#at - start > RISING_DIGITS_MAX || this.#bytes[start] === MINUS) return false;
    let number = 0;
    for (let at = start; at < this.#at; at += 1) {
      number = 10 * number + (this.#bytes[at] as number) - ZERO;
    }
    return this.rising.take(name, number);
  }

  /** Lists the member whose name, with its quotes, is at `nameStart`. */
  #addUnknown(nameStart: number, nameEnd: number): boolean {
    const after = this.#at;
    this.#at = nameStart;
    const name = this.#string(this.#hashes.unknownMember);
    if (name === undefined || this.#at !== nameEnd) return false;
    this.#add(name);
    this.#at = after;
    return true;
  }

  /** Adds the string at the place to `hash` and steps behind it; undefined: it is none. */
  #string(hash: number): number | undefined {
    const bytes = this.#bytes;
    const start = this.#at + 1;
    let sum = hash;
    for (let at = start; at < this.#end; at += 1) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) {
        this.#at = at + 1;
        return sum;
      }
      if (byte === BACKSLASH) return this.#escapedString(hash);
      if (byte < SPACE) return undefined;
      sum = hashByte(sum, byte);
    }
    return undefined;
  }

  #escapedString(hash: number): number | undefined {
    const start = this.#at;
    if (!this.#skipString()) return undefined;
    const text = parsed(this.#bytes.subarray(start, this.#at));
    return text === undefined ? undefined : hashBytes(utf8(text), hash);
  }

  #skipString(): boolean {
    for (let at = this.#at + 1; at < this.#end; at += 1) {
      const byte = this.#bytes[at] as number;
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) {
        this.#at = at + 1;
        return true;
      }
    }
    return false;
  }

  #literal(): string | undefined {
    for (const { text, bytes } of LITERALS) {
      const end = this.#at + bytes.length;
      if (end > this.#end || !bytes.every((byte, at) => this.#bytes[this.#at + at] === byte)) {
        continue;
      }
      this.#at = end;
      return text;
    }
    return undefined;
  }

  /** Steps behind a number; whether its JSON is its text. */
  #wholeNumber(): boolean {
    const start = this.#at;
    let isWhole = true;
    for (; this.#at < this.#end; this.#at += 1) {
      const byte = this.#bytes[this.#at] as number;
      if (IS_NUMBER_LETTER[byte] === 0) break;
      if (byte < ZERO || byte > NINE) isWhole &&= byte === MINUS && this.#at === start;
    }
    const isNegative = this.#bytes[start] === MINUS;
    const digits = isNegative ? start + 1 : start;
    const count = this.#at - digits;
    const isCanonical = this.#bytes[digits] !== ZERO || (count === 1 && !isNegative);
    return isWhole && isCanonical && count >= 1 && count <= DIGITS_MAX;
  }

  /** Steps behind an array or object; whether it has an end. What is within is not checked. */
  #skipNested(first: number): boolean {
    if (first !== BRACE && first !== BRACKET) return false;
    let depth = 0;
    while (this.#at < this.#end) {
      const byte = this.#bytes[this.#at] as number;
      if (byte === QUOTE) {
        if (!this.#skipString()) return false;
        continue;
      }
      if (byte === BRACE || byte === BRACKET) depth += 1;
      if (byte === BRACE_END || byte === BRACKET_END) depth -= 1;
      this.#at += 1;
      if (depth === 0) return true;
    }
    return false;
  }

  /** The byte at the place, once blanks are left behind; -1: the end. */
  #next(): number {
    for (; this.#at < this.#end; this.#at += 1) {
      const byte = this.#bytes[this.#at] as number;
      if (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
    }
    return -1;
  }

  #add(hash: number): void {
    this.#addMixed(mixed(hash));
  }

  #addMixed(hash: number): void {
    if (this.count === this.found.length) {
      const larger = new Uint32Array(2 * this.count);
      larger.set(this.found);
      this.found = larger;
    }
    this.found[this.count] = hash;
    this.count += 1;
  }
}

/** The hash under which a value of a plain column is found. */
export function valueHash(hashes: ColumnHashes, value: string): number {
  return mixed(hashBytes(utf8(value), hashes.value));
}

/** The hash under which rows are found of whose value nothing is known. */
export function unknownHash(hashes: ColumnHashes): number {
  return mixed(hashes.unknown);
}

/** The hash under which a member of this name and value is found. */
export function memberHash(hashes: ColumnHashes, name: string, value: string): number {
  return mixed(hashBytes(utf8(value), memberNameHash(hashes, name)));
}

/** What the hashes of all values of a member of this name begin with. */
export function memberNameHash(hashes: ColumnHashes, name: string): number {
  return hashByte(hashBytes(utf8(name), hashes.member), 0);
}

/**
 * The hash under which rows are found whose member of this name has a value that is not told apart.
 */
export function unknownMemberHash(hashes: ColumnHashes, name: string): number {
  return mixed(hashBytes(utf8(name), hashes.unknownMember));
}

function parsed(json: Uint8Array): string | undefined {
  try {
    const value: unknown = JSON.parse(textOf(json));
    return typeof value === "string" && value.isWellFormed() ? value : undefined;
  } catch {
    return undefined;
  }
}
