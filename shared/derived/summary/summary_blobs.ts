/** The blobs of this folder as values, and as bytes: README.md has the layout. */

import { textOf, utf8 } from "../../base/bytes.ts";
import type { ColumnType } from "../../schema/schema.ts";
import { corruptSummary, SummaryReader, SummaryWriter } from "./summary_bytes.ts";

export const SUMMARY_BLOB = "svc-summary-v1";
export const GROUP_COUNTS_BLOB = "svc-group-counts-v1";
export const CUBE_COUNTS_BLOB = "svc-cube-counts-v1";
export const MEASURES_BLOB = "svc-measures-v1";

/** Types whose values are counted. */
export type GroupType = Exclude<ColumnType, "timestamptz">;
/**
 * A value as text: a string itself, a number as DuckDB reads it, `true` or `false`; null is
 * NULL.
 */
export type GroupValue = string | null;

/** How many rows have each value of a column. */
export interface GroupCounts {
  readonly type: GroupType;
  /** By id: NULL first. */
  readonly values: readonly GroupValue[];
  /** Rows by id. */
  readonly counts: Float64Array;
}

/** Cells in order of (`a`, `b`), each once. */
export interface CubeCells {
  /**
   * Dimensions of the key: 0, 1 or 2. With less than 2 every `b` is 0, with 0 there is one cell,
   * (0, 0).
   */
  readonly dims: number;
  readonly a: Float64Array;
  readonly b: Uint32Array;
}

/** How many rows each cell has. */
export interface CubeCounts extends CubeCells {
  readonly counts: Float64Array;
}

/** Numbers are bigint, those of `double` number. */
export interface Measures extends CubeCells {
  readonly kind: MeasureKind;
  /** Values that are not NULL. */
  readonly values: Float64Array;
  /** The smallest and largest value of each cell, 0 for a cell without values. */
  readonly smallest: readonly (bigint | number)[];
  readonly largest: readonly (bigint | number)[];
  readonly sums: MeasureSums | undefined;
}

export type MeasureKind = "integer" | "time" | "double";

/** The sum of each cell in multiples of 2^-`units`. */
export interface MeasureSums {
  readonly units: number;
  readonly sums: readonly bigint[];
  /** Sums of absolute values. For integers these are `sums` again: nobody needs them there. */
  readonly absolutes: readonly bigint[];
}

const TYPE_CODES: Readonly<Record<GroupType, number>> = {
  string: 1,
  long: 2,
  int: 3,
  double: 4,
  bool: 5,
};

const KIND_CODES: Readonly<Record<MeasureKind, number>> = { integer: 1, time: 2, double: 3 };
const NO_SUM = 255;

/** A blob of type `svc-summary-v1`. */
export function encodeSummary(rows: number): Uint8Array {
  const writer = new SummaryWriter();
  writer.varint(rows);
  return writer.finish();
}

/** The number of rows. */
export function decodeSummary(blob: Uint8Array): number {
  const reader = new SummaryReader(blob);
  const rows = reader.varint();
  reader.end();
  return rows;
}

/** A blob of type `svc-group-counts-v1`. */
export function encodeGroupCounts({ type, values, counts }: GroupCounts): Uint8Array {
  const writer = new SummaryWriter();
  writer.u8(TYPE_CODES[type]);
  writer.varint(counts[0] ?? 0);
  writer.varint(values.length - 1);
  for (let id = 1; id < values.length; id += 1) writer.varint(counts[id] ?? 0);
  const present = values.slice(1).map((value) => value ?? "");
  if (type === "string") {
    const texts = present.map(utf8);
    for (const text of texts) writer.varint(text.byteLength);
    for (const text of texts) writer.bytes(text);
  } else {
    for (const value of present) writeValue(writer, type, value);
  }
  return writer.finish();
}

/** Errors: `corrupt`, also where the counts do not add up to `rows`. */
export function decodeGroupCounts(blob: Uint8Array, rows: number): GroupCounts {
  const reader = new SummaryReader(blob);
  const type = typeOf(reader.u8());
  const nulls = reader.varint();
  const distinct = reader.count();
  const counts = new Float64Array(distinct + 1);
  counts[0] = nulls;
  for (let id = 1; id <= distinct; id += 1) counts[id] = reader.varint();
  const values: GroupValue[] = [null];
  if (type === "string") {
    const lengths = Array.from({ length: distinct }, () => reader.varint());
    for (const length of lengths) values.push(textOf(reader.bytes(length)));
  } else {
    for (let id = 1; id <= distinct; id += 1) values.push(readValue(reader, type));
  }
  reader.end();
  checkTotal(counts, rows);
  return { type, values, counts };
}

/** A blob of type `svc-cube-counts-v1`. */
export function encodeCubeCounts(cube: CubeCounts): Uint8Array {
  const writer = new SummaryWriter();
  writer.u8(cube.dims);
  writer.varint(cube.a.length);
  const keys = new KeyWriter(writer, cube.dims);
  for (let at = 0; at < cube.a.length; at += 1) {
    keys.write(cube.a[at] as number, cube.b[at] as number);
    writer.varint(cube.counts[at] as number);
  }
  return writer.finish();
}

/** Errors: `corrupt`, also where the counts do not add up to `rows`. */
export function decodeCubeCounts(blob: Uint8Array, rows: number): CubeCounts {
  const reader = new SummaryReader(blob);
  const dims = reader.u8();
  const cells = reader.count();
  const keys = new KeyReader(reader, dims);
  const a = new Float64Array(cells);
  const b = new Uint32Array(cells);
  const counts = new Float64Array(cells);
  for (let at = 0; at < cells; at += 1) {
    keys.next();
    a[at] = keys.a;
    b[at] = keys.b;
    counts[at] = reader.varint();
  }
  reader.end();
  checkTotal(counts, rows);
  return { dims, a, b, counts };
}

/** A blob of type `svc-measures-v1`. */
export function encodeMeasures(measures: Measures): Uint8Array {
  const { dims, kind, a, b, values, smallest, largest, sums } = measures;
  const writer = new SummaryWriter();
  writer.u8(dims);
  writer.u8(KIND_CODES[kind]);
  if (kind === "double") writer.u8(sums?.units ?? NO_SUM);
  writer.varint(a.length);
  const keys = new KeyWriter(writer, dims);
  for (let at = 0; at < a.length; at += 1) {
    keys.write(a[at] as number, b[at] as number);
    writer.varint(values[at] as number);
    if (values[at] === 0) continue;
    for (const bound of [smallest[at], largest[at]]) {
      if (kind === "double") writer.double(Number(bound));
      else writer.int64(BigInt(bound ?? 0));
    }
    if (sums === undefined) continue;
    writer.bigZigzag(sums.sums[at] ?? 0n);
    if (kind === "double") writer.bigVarint(sums.absolutes[at] ?? 0n);
  }
  return writer.finish();
}

/** Errors: `corrupt`. */
export function decodeMeasures(blob: Uint8Array): Measures {
  const reader = new SummaryReader(blob);
  const dims = reader.u8();
  const kind = kindOf(reader.u8());
  const units = kind === "double" ? reader.u8() : kind === "integer" ? 0 : NO_SUM;
  if (units !== NO_SUM && units > 52) throw corruptSummary(`it has sums in 2^-${units}`);
  const cells = reader.count();
  const keys = new KeyReader(reader, dims);
  const a = new Float64Array(cells);
  const b = new Uint32Array(cells);
  const values = new Float64Array(cells);
  const [smallest, largest]: [(bigint | number)[], (bigint | number)[]] = [[], []];
  const [sums, absolutes]: [bigint[], bigint[]] = [[], []];
  const zero = kind === "double" ? 0 : 0n;
  for (let at = 0; at < cells; at += 1) {
    keys.next();
    a[at] = keys.a;
    b[at] = keys.b;
    const count = reader.varint();
    values[at] = count;
    const bound = () => kind === "double" ? reader.double() : reader.int64();
    smallest.push(count === 0 ? zero : bound());
    largest.push(count === 0 ? zero : bound());
    if (units === NO_SUM) continue;
    sums.push(count === 0 ? 0n : reader.bigZigzag());
    absolutes.push(count === 0 || kind !== "double" ? 0n : reader.bigVarint());
  }
  reader.end();
  return {
    ...{ dims, kind, a, b, values, smallest, largest },
    sums: units === NO_SUM ? undefined : { units, sums, absolutes },
  };
}

class KeyWriter {
  #last: number | undefined;

  constructor(private readonly writer: SummaryWriter, private readonly dims: number) {}

  write(a: number, b: number): void {
    if (this.dims === 0) return;
    if (this.#last === undefined) this.writer.zigzag(a);
    else this.writer.varint(a - this.#last);
    this.#last = a;
    if (this.dims === 2) this.writer.varint(b);
  }
}

class KeyReader {
  a = 0;
  b = 0;
  #started = false;

  constructor(private readonly reader: SummaryReader, private readonly dims: number) {
    if (dims > 2) throw corruptSummary(`it has keys of ${dims} parts`);
  }

  /** Errors: `corrupt` where keys are not in order. */
  next(): void {
    const first = !this.#started;
    this.#started = true;
    if (this.dims === 0) {
      if (!first) throw corruptSummary("it has several cells and no key");
      return;
    }
    const step = first ? this.reader.zigzag() : this.reader.varint();
    this.a += step;
    const b = this.dims === 2 ? this.reader.varint() : 0;
    const ordered = first || step > 0 || (this.dims === 2 && b > this.b);
    if (!ordered) throw corruptSummary("its cells are not in order");
    this.b = b;
  }
}

function writeValue(
  writer: SummaryWriter,
  type: Exclude<GroupType, "string">,
  value: string,
): void {
  if (type === "long") writer.int64(BigInt(value));
  else if (type === "int") writer.int32(Number(value));
  else if (type === "double") writer.double(Number(value));
  else writer.u8(value === "true" ? 1 : 0);
}

function readValue(reader: SummaryReader, type: Exclude<GroupType, "string">): string {
  if (type === "long") return String(reader.int64());
  if (type === "int") return String(reader.int32());
  if (type === "double") return String(reader.double());
  return reader.u8() === 0 ? "false" : "true";
}

function typeOf(code: number): GroupType {
  for (const [type, known] of Object.entries(TYPE_CODES)) {
    if (known === code) return type as GroupType;
  }
  throw corruptSummary(`it has values of type ${code}`);
}

function kindOf(code: number): MeasureKind {
  for (const [kind, known] of Object.entries(KIND_CODES)) {
    if (known === code) return kind as MeasureKind;
  }
  throw corruptSummary(`it measures values of kind ${code}`);
}

function checkTotal(counts: Float64Array, rows: number): void {
  let total = 0;
  for (const count of counts) total += count;
  if (total !== rows) throw corruptSummary(`it counts ${total} rows of a file that has ${rows}`);
}
