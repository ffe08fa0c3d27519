/**
 * The members of a JSON object, and of the objects within it, from its bytes, as the hashes of
 * names and values that `values_format.ts` describes. A member within an object is called by its
 * path (`shared/schema/attribute_path.ts`).
 *
 * The value is the text that `attr_get` gives: the letters of a string, the JSON of a whole number
 * or a truth value. Null is as if it were absent. For other values, and for numbers within objects,
 * only the name is kept. A name that occurs twice gives both values. Anything but a well-formed
 * object is refused as a whole, and so is a string that DuckDB would not read.
 */

import { textOf, utf8, viewOf } from "../../base/bytes.ts";
import { areSameBytesAt } from "../../columns/value_bytes.ts";
import { PATH_NAMES_MAX } from "../../schema/attribute_path.ts";
import { hashBetween, hashByte, hashBytes, mixed } from "./hash.ts";
import { RISING_DIGITS_MAX, RisingNumbers } from "./rising_numbers.ts";
import type { ColumnHashes } from "./values_format.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const DOT = 0x2e;
const BRACE = 0x7b;
const BRACE_END = 0x7d;
const BRACKET = 0x5b;
const BRACKET_END = 0x5d;
const SPACE = 0x20;

/** What the path to a member within an object begins with. */
const PATH_START = utf8("$.");
/** More digits are written otherwise by some readers. */
const DIGITS_MAX = 18;
/** Bytes of text that can be part of a number. */
const IS_NUMBER_LETTER = new Uint8Array(256);
for (const letter of utf8("+-.0123456789Ee")) IS_NUMBER_LETTER[letter] = 1;
const [TRUE, FALSE, NULL] = [utf8("true"), utf8("false"), utf8("null")];

/** Further members of an object are compared with each other. */
const BEFORE_MAX = 256;

/** An object, by what the hashes of its members begin with. */
interface Within {
  /** Names that lead to a member of it. */
  readonly names: number;
  /** Then: a name, a zero byte, a value; or a name, where the value is not told apart. */
  readonly member: number;
  readonly unknownMember: number;
  /** Both for members within a member: then its name, a dot and their name. */
  readonly path: number;
  readonly unknownPath: number;
}

/** A member of an object before, in the same bytes. */
interface MemberBefore {
  /** The object that it is a member of. */
  within: Within;
  /** The object that it is, once there was one of this name. */
  object: Within | undefined;
  start: number;
  /** Length of its name with the quotes, and of that with the colon; 0: there was none. */
  nameBytes: number;
  headBytes: number;
  /** What the hashes of its values begin with. */
  nameHash: number;
  /**
   * Length of the whole member, and the hash that was found. Kept for texts and truth values, since
   * numbers may rise; 0 for another value.
   */
  length: number;
  hash: number;
  /** The hash where its value is not told apart; undefined until one was not. */
  unknown: number | undefined;
}

export class MemberHashes {
  /** Takes numbers that rise from object to object, which are then in no hash. */
  readonly rising = new RisingNumbers();
  /** Hashes of the last object's members; `count` of them. */
  found = new Uint32Array(64);
  count = 0;
  readonly #outermost: Within;
  #bytes: Uint8Array = new Uint8Array(0);
  #view: DataView = new DataView(this.#bytes.buffer);
  /** Members of the objects before, in their order: mostly objects are alike. */
  #before: MemberBefore[] = [];
  /** Members of the object so far, those within others too. */
  #place = 0;
  #at = 0;
  #end = 0;

  constructor({ member, unknownMember }: ColumnHashes) {
    const path = hashBytes(PATH_START, member);
    const unknownPath = hashBytes(PATH_START, unknownMember);
    this.#outermost = { names: 1, member, unknownMember, path, unknownPath };
  }

  /** Whether bytes `start` to `end` are an object whose members are now in `found`. */
  read(bytes: Uint8Array, start: number, end: number): boolean {
    if (bytes !== this.#bytes) this.#begin(bytes);
    this.#at = start;
    this.#end = end;
    this.count = 0;
    this.#place = 0;
    return this.#next() === BRACE && this.#object(this.#outermost) && this.#next() === -1;
  }

  #begin(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
    this.#before = [];
  }

  #object(within: Within): boolean {
    this.#at += 1;
    if (this.#next() === BRACE_END) {
      this.#at += 1;
      return true;
    }
    for (;;) {
      if (this.#next() !== QUOTE) return false;
      const before = this.#beforeOf(within);
      if (!this.#isRepeated(before) && !this.#member(before)) return false;
      const after = this.#next();
      if (after !== COMMA && after !== BRACE_END) return false;
      this.#at += 1;
      if (after === BRACE_END) return true;
    }
  }

  #beforeOf(within: Within): MemberBefore {
    const place = Math.min(this.#place, BEFORE_MAX);
    this.#place += 1;
    const before = this.#before[place];
    if (before?.within === within) return before;
    return this.#before[place] = {
      within,
      object: undefined,
      start: 0,
      nameBytes: 0,
      headBytes: 0,
      nameHash: 0,
      length: 0,
      hash: 0,
      unknown: undefined,
    };
  }

  /**
   * Steps behind a member that has the same bytes as the one at its place in an object before, and
   * adds its hash.
   */
  #isRepeated(before: MemberBefore): boolean {
    if (before.length === 0) return false;
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

  #member(before: MemberBefore): boolean {
    const start = this.#at;
    if (!this.#isSameHead(before) && !this.#readHead(before)) return false;
    before.start = start;
    before.length = 0;
    return this.#value(before);
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
    before.object = undefined;
    before.unknown = undefined;
    const name = this.#string(before.within.member);
    before.nameBytes = this.#at - start;
    if (name === undefined || this.#next() !== COLON) return false;
    this.#at += 1;
    before.headBytes = this.#at - start;
    before.nameHash = hashByte(name, 0);
    return true;
  }

  #value(before: MemberBefore): boolean {
    const first = this.#next();
    if (first === QUOTE) {
      const value = this.#string(before.nameHash);
      if (value === undefined) return false;
      this.#addRepeatable(value, before);
      return true;
    }
    if (first === BRACE) return this.#addUnknown(before) && this.#objectWithin(before);
    if (first === BRACKET) return this.#skipNested() && this.#addUnknown(before);
    const start = this.#at;
    if (first === MINUS || (first >= ZERO && first <= NINE)) {
      const isTold = this.#wholeNumber() && before.within === this.#outermost;
      if (!isTold) return this.#addUnknown(before);
      if (!this.#isRising(before.nameHash, start)) this.#add(this.#plain(before.nameHash, start));
      return true;
    }
    if (this.#isLiteral(NULL)) return true;
    if (!this.#isLiteral(TRUE) && !this.#isLiteral(FALSE)) return false;
    this.#addRepeatable(this.#plain(before.nameHash, start), before);
    return true;
  }

  /** The bytes from `start` on, added to `hash`. */
  #plain(hash: number, start: number): number {
    return hashBetween(this.#bytes, start, this.#at, hash);
  }

  /** Adds the hash of the member that was read, and keeps it for the next of the same bytes. */
  #addRepeatable(hash: number, before: MemberBefore): void {
    this.#add(hash);
    before.length = this.#at - before.start;
    before.hash = this.found[this.count - 1] as number;
  }

  #objectWithin(before: MemberBefore): boolean {
    const { within } = before;
    if (within.names === PATH_NAMES_MAX) return this.#skipNested();
    if (before.object === undefined) {
      const path = this.#nameOf(before, within.path);
      const unknownPath = this.#nameOf(before, within.unknownPath);
      if (path === undefined || unknownPath === undefined) return false;
      const [member, unknownMember] = [hashByte(path, DOT), hashByte(unknownPath, DOT)];
      before.object = {
        names: within.names + 1,
        ...{ member, unknownMember, path: member, unknownPath: unknownMember },
      };
    }
    return this.#object(before.object);
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

  /** Lists the member by its name alone. */
  #addUnknown(before: MemberBefore): boolean {
    if (before.unknown === undefined) {
      const name = this.#nameOf(before, before.within.unknownMember);
      if (name === undefined) return false;
      before.unknown = mixed(name);
    }
    this.#addMixed(before.unknown);
    return true;
  }

  /** The name of the member that is being read, added to `hash`; undefined: it is none. */
  #nameOf({ start, nameBytes }: MemberBefore, hash: number): number | undefined {
    const after = this.#at;
    this.#at = start;
    const name = this.#string(hash);
    const isName = this.#at === start + nameBytes;
    this.#at = after;
    return isName ? name : undefined;
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

  /** Whether these bytes come next, and steps behind them. */
  #isLiteral(bytes: Uint8Array): boolean {
    const end = this.#at + bytes.length;
    if (end > this.#end) return false;
    for (let at = 0; at < bytes.length; at += 1) {
      if (this.#bytes[this.#at + at] !== bytes[at]) return false;
    }
    this.#at = end;
    return true;
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
  #skipNested(): boolean {
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

/** The hash under which a member of this name, or at this path, and of this value is found. */
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
