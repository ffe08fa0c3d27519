/**
 * Builders of single columns. They grow by doubling and may be used again after `finish`, which
 * gives out exact copies. A finished column never changes. A lent one does not change before it is
 * given back.
 */

import { isAscii, isUtf8 } from "node:buffer";
import { unreachable } from "../base/assert.ts";
import type { ColumnType } from "../schema/schema.ts";
import type { ColumnData } from "./batch.ts";
import { ByteBuilder } from "./byte_builder.ts";
import { IntBuffer } from "./int_buffer.ts";

export interface ColumnBuilder {
  /** Rows so far. */
  readonly rows: number;
  null(): void;
  /** The column; the builder is empty afterwards. */
  finish(): ColumnData;
  clear(): void;
}

/** A column without copies: what it holds is lent until `giveBack`. */
export interface LentColumn extends ColumnData {
  readonly offsets: Int32Array<ArrayBuffer> | null;
  readonly values: Uint8Array<ArrayBuffer>;
}

/** A builder whose columns can be lent. */
export interface LendingBuilder {
  /** The column; the builder is empty afterwards and writes elsewhere. */
  lend(): LentColumn;
  /** Takes back what `lend` gave, once: nobody may read it any more. */
  giveBack(column: LentColumn): void;
}

/** Which rows are null; costs nothing while none is. */
class Validity {
  #bits = new Uint8Array(0);
  nullCount = 0;

  null(row: number): void {
    const byte = row >> 3;
    if (byte >= this.#bits.length) {
      const grown = new Uint8Array(2 * byte + 64).fill(255);
      grown.set(this.#bits);
      this.#bits = grown;
    }
    this.#bits[byte] = (this.#bits[byte] as number) & ~(1 << (row & 7));
    this.nullCount += 1;
  }

  /** The bitmap of `rows` rows, or null when no row is null; empty afterwards. */
  take(rows: number): Uint8Array | null {
    if (this.nullCount === 0) return null;
    const taken = new Uint8Array((rows + 7) >> 3).fill(255);
    taken.set(this.#bits.subarray(0, taken.length));
    if ((rows & 7) !== 0) {
      taken[taken.length - 1] = (taken[taken.length - 1] as number) & ((1 << (rows & 7)) - 1);
    }
    this.clear();
    return taken;
  }

  clear(): void {
    if (this.nullCount > 0) this.#bits.fill(255);
    this.nullCount = 0;
  }
}

/** UTF-8 values. Write the value's bytes into `values`, then end the row. */
export class StringColumnBuilder implements ColumnBuilder, LendingBuilder {
  readonly values = new ByteBuilder(16 * 1024);
  rows = 0;
  /** The first is 0. */
  readonly #offsets = new IntBuffer(1024);
  readonly #validity = new Validity();

  /** Most bytes of all values together. */
  set bytesMax(bytesMax: number) {
    this.values.bytesMax = bytesMax;
  }

  /** Bytes appended to `values` since the last row ended. */
  get rowLength(): number {
    return this.values.length - (this.#offsets.cells[this.rows] as number);
  }

  /** Ends the row whose bytes were appended to `values` since the last row ended. */
  endRow(): void {
    this.rows += 1;
    if (this.rows === this.#offsets.cells.length) this.#offsets.grow();
    this.#offsets.cells[this.rows] = this.values.length;
  }

  /** Ends `count` rows with this value each. */
  fill(bytes: Uint8Array, count: number): void {
    const { values } = this;
    const start = values.length;
    const end = start + bytes.length * count;
    values.reserve(end - start);
    values.bytes.set(bytes, start);
    for (let filled = bytes.length; filled < end - start; filled *= 2) {
      values.bytes.copyWithin(
        start + filled,
        start,
        start + Math.min(filled, end - start - filled),
      );
    }
    values.length = end;
    while (this.rows + count >= this.#offsets.cells.length) this.#offsets.grow();
    const { cells } = this.#offsets;
    for (let i = 1; i <= count; i += 1) cells[this.rows + i] = start + bytes.length * i;
    this.rows += count;
  }

  null(): void {
    this.#validity.null(this.rows);
    this.endRow();
  }

  text(text: string): void {
    this.values.text(text);
    this.endRow();
  }

  bytes(bytes: Uint8Array): void {
    this.values.append(bytes);
    this.endRow();
  }

  finish(): ColumnData {
    return this.#finish(this.#offsets.cells.slice(0, this.rows + 1), this.values.take());
  }

  lend(): LentColumn {
    return this.#finish(this.#offsets.lend(this.rows + 1), this.values.lend());
  }

  giveBack({ offsets, values }: LentColumn): void {
    this.values.giveBack(values);
    if (offsets !== null) this.#offsets.giveBack(offsets.buffer);
  }

  #finish(offsets: Int32Array<ArrayBuffer>, values: Uint8Array<ArrayBuffer>): LentColumn {
    const { rows } = this;
    const nullCount = this.#validity.nullCount;
    const validity = this.#validity.take(rows);
    this.rows = 0;
    return { nullCount, validity, offsets, values };
  }

  clear(): void {
    this.rows = 0;
    this.values.clear();
    this.#validity.clear();
  }
}

/** UTF-8 values that mostly repeat the row before: a run of rows is written at once. */
export class RunColumnBuilder implements LendingBuilder {
  readonly #column = new StringColumnBuilder();
  #run: Uint8Array = new Uint8Array(0);
  #runRows = 0;

  /** Most bytes of all values together. */
  set bytesMax(bytesMax: number) {
    this.#column.bytesMax = bytesMax;
  }

  /** Appends a row with this value; `bytes` must not change afterwards. */
  value(bytes: Uint8Array): void {
    if (bytes !== this.#run) {
      this.#flush();
      this.#run = bytes;
    }
    this.#runRows += 1;
  }

  /** Appends a row of these bytes, or one that is null. */
  valueOrNull(bytes: Uint8Array | null): void {
    if (bytes !== null) {
      this.value(bytes);
      return;
    }
    this.#flush();
    this.#column.null();
  }

  /** Appends a row with the first `length` of these bytes, which may change afterwards. */
  copyOf(bytes: Uint8Array, length: number): void {
    const run = this.#run;
    let same = run.length === length;
    for (let i = 0; same && i < length; i += 1) same = run[i] === bytes[i];
    this.value(same ? run : bytes.slice(0, length));
  }

  finish(): ColumnData {
    this.#flush();
    return this.#column.finish();
  }

  lend(): LentColumn {
    this.#flush();
    return this.#column.lend();
  }

  giveBack(column: LentColumn): void {
    this.#column.giveBack(column);
  }

  clear(): void {
    this.#runRows = 0;
    this.#column.clear();
  }

  #flush(): void {
    if (this.#runRows > 0) this.#column.fill(this.#run, this.#runRows);
    this.#runRows = 0;
  }
}

/** For one integer, low half first: the machine is little-endian, as Arrow's buffers are. */
const INTEGER = new BigInt64Array(1);
const HALVES = new Int32Array(INTEGER.buffer);

/** 64-bit integers (`long`, `timestamptz`), as halves or as bigint. */
export class Int64ColumnBuilder implements ColumnBuilder, LendingBuilder {
  rows = 0;
  readonly #halves = new IntBuffer(2048);
  readonly #validity = new Validity();

  /** Appends the integer with these halves. */
  halves(low: number, high: number): void {
    const at = 2 * this.rows;
    if (at === this.#halves.cells.length) this.#halves.grow();
    const { cells } = this.#halves;
    cells[at] = low;
    cells[at + 1] = high;
    this.rows += 1;
  }

  bigint(value: bigint): void {
    INTEGER[0] = value;
    this.halves(HALVES[0] as number, HALVES[1] as number);
  }

  null(): void {
    this.#validity.null(this.rows);
    this.halves(0, 0);
  }

  finish(): ColumnData {
    return this.#finish(this.#halves.cells.slice(0, 2 * this.rows));
  }

  lend(): LentColumn {
    return this.#finish(this.#halves.lend(2 * this.rows));
  }

  giveBack({ values }: LentColumn): void {
    this.#halves.giveBack(values.buffer);
  }

  #finish({ buffer, byteLength }: Int32Array<ArrayBuffer>): LentColumn {
    const { rows } = this;
    const nullCount = this.#validity.nullCount;
    const validity = this.#validity.take(rows);
    this.rows = 0;
    return { nullCount, validity, offsets: null, values: new Uint8Array(buffer, 0, byteLength) };
  }

  clear(): void {
    this.rows = 0;
    this.#validity.clear();
  }
}

/** `double`, `int` and `bool`: cold columns, collected as numbers. */
export class NumberColumnBuilder implements ColumnBuilder {
  readonly #type: "double" | "int" | "bool";
  #values: number[] = [];
  readonly #validity = new Validity();

  constructor(type: "double" | "int" | "bool") {
    this.#type = type;
  }

  get rows(): number {
    return this.#values.length;
  }

  number(value: number): void {
    this.#values.push(value);
  }

  null(): void {
    this.#validity.null(this.rows);
    this.#values.push(0);
  }

  finish(): ColumnData {
    const nullCount = this.#validity.nullCount;
    const validity = this.#validity.take(this.rows);
    const values = this.#packed();
    this.#values = [];
    return { nullCount, validity, offsets: null, values };
  }

  clear(): void {
    this.#values = [];
    this.#validity.clear();
  }

  #packed(): Uint8Array {
    if (this.#type === "double") return new Uint8Array(Float64Array.from(this.#values).buffer);
    if (this.#type === "int") return new Uint8Array(Int32Array.from(this.#values).buffer);
    const bits = new Uint8Array((this.rows + 7) >> 3);
    this.#values.forEach((value, row) => {
      if (value !== 0) bits[row >> 3] = (bits[row >> 3] as number) | (1 << (row & 7));
    });
    return bits;
  }
}

/** A builder for a column of this type. */
export function columnBuilderOf(
  type: ColumnType,
): StringColumnBuilder | Int64ColumnBuilder | NumberColumnBuilder {
  switch (type) {
    case "string":
      return new StringColumnBuilder();
    case "timestamptz":
    case "long":
      return new Int64ColumnBuilder();
    case "double":
    case "int":
    case "bool":
      return new NumberColumnBuilder(type);
    default:
      return unreachable(type);
  }
}

/**
 * The first row of a string column whose bytes are not UTF-8, or -1. The whole buffer is checked at
 * once; each row is valid when, besides, none begins inside a character.
 */
export function firstRowNotUtf8(column: ColumnData): number {
  const { offsets, values } = column;
  if (offsets === null || isAscii(values)) return -1;
  if (isUtf8(values) && !beginsInsideCharacter(offsets, values)) return -1;
  for (let row = 0; row + 1 < offsets.length; row += 1) {
    if (!isUtf8(values.subarray(offsets[row], offsets[row + 1]))) return row;
  }
  return -1;
}

function beginsInsideCharacter(offsets: Int32Array, values: Uint8Array): boolean {
  for (const offset of offsets) {
    if (offset < values.length && ((values[offset] as number) & 0xc0) === 0x80) return true;
  }
  return false;
}
