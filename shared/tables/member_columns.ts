/**
 * What a promoted column holds of the members that `MemberScanner` found: whole columns at a time,
 * from the bytes as they lie in the JSON. Numbers are read without making text of them.
 *
 * A value that the column cannot hold is null, and the column is not complete then: its rows say
 * less than their attributes do (`CompleteColumns`).
 */

import { Buffer } from "node:buffer";
import { utf8, viewOf } from "../base/bytes.ts";
import { unreachable } from "../base/assert.ts";
import type { ColumnData } from "../columns/batch.ts";
import type { PromotedType } from "../schema/promoted.ts";
import { MEMBER, parsed } from "./member_scanner.ts";

/** Values of one name in the rows of a batch. */
export interface Members {
  readonly rows: number;
  /** The bytes of the objects. */
  readonly bytes: Uint8Array;
  /** By row, as in `FoundMembers`. */
  readonly kinds: Uint8Array;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

/** A column, and whether it holds every value there is. */
export interface LiftedColumn {
  readonly data: ColumnData;
  readonly isComplete: boolean;
}

const QUOTE = 0x22;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const INT_MAX = 2 ** 31 - 1;
const LONG_MAX = 2n ** 63n - 1n;
/** So many digits are a whole number that a double holds. */
const EXACT_DIGITS = 15;
const LONG_DIGITS_MAX = 19;
/** Zeros behind a decimal point after which some writers of numbers use an exponent. */
const ZEROS_MAX = 3;
const POWERS = Array.from({ length: 23 }, (_, power) => 10 ** power);
const TWO_32 = 2 ** 32;
/** A digit behind a larger number may make one that a double does not hold. */
const SAFE_TENTH = Math.floor(Number.MAX_SAFE_INTEGER / 10) - 1;

/** The column of `type` with these values. */
export function memberColumn(type: PromotedType, members: Members): LiftedColumn {
  switch (type) {
    case "string":
      return textColumn(members);
    case "int":
    case "long":
      return integerColumn(type, members);
    case "double":
      return doubleColumn(members);
    case "bool":
      return boolColumn(members);
    default:
      return unreachable(type);
  }
}

/** Which rows have a value, and whether all that are there do. */
class Validity {
  readonly #bits: Uint8Array;
  #nullCount = 0;
  isComplete = true;

  constructor(rows: number) {
    this.#bits = new Uint8Array((rows + 7) >> 3).fill(255);
    if ((rows & 7) !== 0) this.#bits[rows >> 3] = (1 << (rows & 7)) - 1;
  }

  /** The row has no value that the column holds; `kind` says whether it has one at all. */
  null(row: number, kind: number): void {
    this.#bits[row >> 3] = (this.#bits[row >> 3] as number) & ~(1 << (row & 7));
    this.#nullCount += 1;
    if (kind !== MEMBER.absent) this.isComplete = false;
  }

  finish(values: Uint8Array, offsets: Int32Array | null = null): LiftedColumn {
    const nullCount = this.#nullCount;
    const validity = nullCount === 0 ? null : this.#bits;
    return { data: { validity, nullCount, offsets, values }, isComplete: this.isComplete };
  }
}

function textColumn(members: Members): LiftedColumn {
  const { rows, kinds, starts, ends, bytes } = members;
  const validity = new Validity(rows);
  const offsets = new Int32Array(rows + 1);
  const decoded = new Map<number, Uint8Array>();
  let length = 0;
  for (let row = 0; row < rows; row += 1) {
    const kind = kinds[row] as number;
    const start = starts[row] as number;
    const end = ends[row] as number;
    if (kind === MEMBER.escaped) {
      const text = utf8(parsed(bytes.subarray(start, end)));
      decoded.set(row, text);
      length += text.byteLength;
    } else if (kind === MEMBER.text || isText(bytes, { kind, start, end })) length += end - start;
    else validity.null(row, kind);
    offsets[row + 1] = length;
  }
  const values = new Uint8Array(length);
  const [source, target] = [viewOf(bytes), viewOf(values)];
  for (let row = 0; row < rows; row += 1) {
    const to = offsets[row] as number;
    const count = (offsets[row + 1] as number) - to;
    if (count === 0) continue;
    if (kinds[row] === MEMBER.escaped) values.set(decoded.get(row) ?? new Uint8Array(0), to);
    else copyBytes(target, to, { source, start: starts[row] as number, count });
  }
  return validity.finish(values, offsets);
}

interface MemberPlace {
  readonly kind: number;
  readonly start: number;
  readonly end: number;
}

/** Whether `attr_get` gives the value of this kind as it is written. */
function isText(bytes: Uint8Array, { kind, start, end }: MemberPlace): boolean {
  if (kind === MEMBER.bool) return true;
  if (kind === MEMBER.integer) return integerAt(bytes, start, end) !== undefined;
  return kind === MEMBER.number && isPlainDecimal(bytes, start, end);
}

/**
 * Whether the text is the shortest of its double, as all who write numbers write it. It has 15
 * digits at most, no exponent and no zero too many, and is not so small that some use an exponent.
 */
function isPlainDecimal(bytes: Uint8Array, start: number, end: number): boolean {
  let at = bytes[start] === MINUS ? start + 1 : start;
  if (end - at > EXACT_DIGITS + 1) return false;
  const isSmall = bytes[at] === ZERO;
  while (at < end && bytes[at] !== DOT) {
    const byte = bytes[at] as number;
    if (byte < ZERO || byte > NINE) return false;
    at += 1;
  }
  const fraction = at + 1;
  if (fraction >= end) return false;
  let zeros = 0;
  for (at = fraction; at < end && bytes[at] === ZERO; at += 1) zeros += 1;
  if (at === end) return zeros === 1 && !isSmall;
  for (; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte < ZERO || byte > NINE) return false;
  }
  return bytes[end - 1] !== ZERO && !(isSmall && zeros > ZEROS_MAX - 1);
}

function copyBytes(
  target: DataView,
  to: number,
  { source, start, count }: {
    readonly source: DataView;
    readonly start: number;
    readonly count: number;
  },
): void {
  if (count < 4) {
    for (let at = 0; at < count; at += 1) target.setUint8(to + at, source.getUint8(start + at));
    return;
  }
  // The last four may have been copied in part.
  const last = count - 4;
  for (let at = 0; at < last; at += 4) {
    target.setInt32(to + at, source.getInt32(start + at, true), true);
  }
  target.setInt32(to + last, source.getInt32(start + last, true), true);
}

function integerColumn(type: "int" | "long", members: Members): LiftedColumn {
  const { rows, kinds } = members;
  const validity = new Validity(rows);
  const halves = new Int32Array(type === "int" ? rows : 2 * rows);
  for (let row = 0; row < rows; row += 1) {
    const value = kinds[row] === MEMBER.absent ? undefined : integerOf(members, row);
    if (value === undefined || (type === "int" && !isInt(value))) {
      validity.null(row, kinds[row] as number);
    } else if (type === "int") halves[row] = Number(value);
    else putLong(halves, row, value);
  }
  return validity.finish(new Uint8Array(halves.buffer));
}

function isInt(value: number | bigint): boolean {
  return value >= -INT_MAX - 1 && value <= INT_MAX;
}

function putLong(halves: Int32Array, row: number, value: number | bigint): void {
  if (typeof value === "bigint") {
    halves[2 * row] = Number(BigInt.asIntN(32, value));
    halves[2 * row + 1] = Number(BigInt.asIntN(32, value >> 32n));
    return;
  }
  const high = Math.floor(value / TWO_32);
  halves[2 * row] = value - high * TWO_32;
  halves[2 * row + 1] = high;
}

/** An integer, or a text that is what an integer is written as. */
function integerOf(members: Members, row: number): number | bigint | undefined {
  const { bytes, kinds, starts, ends } = members;
  const kind = kinds[row];
  if (kind === MEMBER.integer || kind === MEMBER.text) {
    return integerAt(bytes, starts[row] as number, ends[row] as number);
  }
  if (kind !== MEMBER.escaped) return undefined;
  const text = utf8(parsed(bytes.subarray(starts[row], ends[row])));
  return integerAt(text, 0, text.byteLength);
}

/** The integer of 64 bits that is written so; undefined: it is none, or is written otherwise. */
function integerAt(bytes: Uint8Array, start: number, end: number): number | bigint | undefined {
  const isNegative = bytes[start] === MINUS;
  const digits = isNegative ? start + 1 : start;
  const count = end - digits;
  if (count < 1 || count > LONG_DIGITS_MAX) return undefined;
  if (bytes[digits] === ZERO && (count > 1 || isNegative)) return undefined;
  let value = 0;
  for (let at = digits; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte < ZERO || byte > NINE) return undefined;
    value = 10 * value + byte - ZERO;
  }
  if (count <= EXACT_DIGITS) return isNegative ? -value : value;
  const exact = BigInt(latin(bytes, digits, end));
  if (exact > LONG_MAX + (isNegative ? 1n : 0n)) return undefined;
  return isNegative ? -exact : exact;
}

function doubleColumn({ rows, kinds, starts, ends, bytes }: Members): LiftedColumn {
  const validity = new Validity(rows);
  const values = new Float64Array(rows);
  for (let row = 0; row < rows; row += 1) {
    const kind = kinds[row] as number;
    const isNumber = kind === MEMBER.integer || kind === MEMBER.number;
    const value = isNumber ? numberAt(bytes, starts[row] as number, ends[row] as number) : NaN;
    // DuckDB reads `-0` as 0, and `-0.0` as -0.
    if (Number.isFinite(value) && !Object.is(value, -0)) values[row] = value;
    else validity.null(row, kind);
  }
  return validity.finish(new Uint8Array(values.buffer));
}

/**
 * The double nearest to the JSON number. A whole number up to 2^53 and a small power of ten are
 * each exact as doubles, so one division, which rounds right, gives it.
 */
function numberAt(bytes: Uint8Array, start: number, end: number): number {
  const isNegative = bytes[start] === MINUS;
  let value = 0;
  let decimals = 0;
  let isFraction = false;
  for (let at = isNegative ? start + 1 : start; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte === DOT) {
      isFraction = true;
      continue;
    }
    // An exponent, or too many digits.
    if (byte < ZERO || byte > NINE || value > SAFE_TENTH) return Number(latin(bytes, start, end));
    value = 10 * value + byte - ZERO;
    if (isFraction) decimals += 1;
  }
  const power = POWERS[decimals];
  if (power === undefined) return Number(latin(bytes, start, end));
  return isNegative ? -value / power : value / power;
}

/** Bytes that are ASCII, as text. */
function latin({ buffer, byteOffset }: Uint8Array, start: number, end: number): string {
  return Buffer.from(buffer, byteOffset + start, end - start).toString("latin1");
}

function boolColumn({ rows, kinds, starts, ends, bytes }: Members): LiftedColumn {
  const validity = new Validity(rows);
  const bits = new Uint8Array((rows + 7) >> 3);
  for (let row = 0; row < rows; row += 1) {
    const kind = kinds[row] as number;
    const text = kind === MEMBER.absent || kind === MEMBER.nested
      ? ""
      : literalOf(bytes.subarray(starts[row], ends[row]));
    if (text === "true") bits[row >> 3] = (bits[row >> 3] as number) | (1 << (row & 7));
    else if (text !== "false") validity.null(row, kind);
  }
  return validity.finish(bits);
}

function literalOf(bytes: Uint8Array): string {
  if (bytes[0] === QUOTE) return parsed(bytes);
  return bytes.byteLength > 5 ? "" : latin(bytes, 0, bytes.byteLength);
}
