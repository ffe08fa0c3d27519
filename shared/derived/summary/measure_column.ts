/**
 * Counts, smallest, largest and sum of a numeric column's values, by group of rows. 64-bit integers
 * are added and compared as halves of 32 bits: no bigint is made for a row.
 */

import type { ColumnData } from "../../columns/batch.ts";
import { halvesOf } from "../../columns/timestamps.ts";
import type { ColumnType } from "../../schema/schema.ts";
import type { ColumnPiece } from "./value_table.ts";
import type { MeasureKind, MeasureSums } from "./summary_blobs.ts";

export type MeasuredType = Exclude<ColumnType, "string" | "bool">;

/** The group of each row, below `count`; undefined: all rows are in group 0. */
export interface RowGroups {
  readonly groups: Uint16Array | Uint32Array | undefined;
  readonly count: number;
}

/** By group; undefined when a double is -0, which compares as 0 and prints as -0. */
export interface MeasuredColumn {
  readonly kind: MeasureKind;
  readonly values: Float64Array;
  readonly smallest: (bigint | number)[];
  readonly largest: (bigint | number)[];
  readonly sums: MeasureSums | undefined;
}

/**
 * Counts, sums, smallest and largest values of a column by group; undefined where it cannot be
 * measured.
 */
export function measureColumn(
  type: MeasuredType,
  pieces: readonly ColumnPiece[],
  groups: RowGroups,
): MeasuredColumn | undefined {
  return type === "double" ? measureDoubles(pieces, groups) : measureIntegers(type, pieces, groups);
}

/** Sums of halves stay below 2^53 for so many rows. */
const ROWS_UNTIL_CARRY = 2 ** 20;

function measureIntegers(
  type: Exclude<MeasuredType, "double">,
  pieces: readonly ColumnPiece[],
  { groups, count }: RowGroups,
): MeasuredColumn {
  const kind = type === "timestamptz" ? "time" : "integer";
  const state = new IntegerState(count, kind);
  let base = 0;
  for (const { data, rows } of pieces) {
    const halves = type === "int" ? widened(data, rows) : halvesOf(data, rows);
    for (let from = 0; from < rows; from += ROWS_UNTIL_CARRY) {
      const to = Math.min(rows, from + ROWS_UNTIL_CARRY);
      state.add(halves, data.validity, { from, to, groups: groups?.subarray(base), group: 0 });
      state.carry();
    }
    base += rows;
  }
  return state.finish();
}

interface Span {
  readonly from: number;
  readonly to: number;
  /** The group of each of the piece's rows. */
  readonly groups: Uint16Array | Uint32Array | undefined;
  /** Where `groups` is undefined. */
  readonly group: number;
}

class IntegerState {
  /** Times have no sums. */
  readonly #kind: "integer" | "time";
  readonly #values: Float64Array;
  readonly #lowSums: Float64Array;
  readonly #highSums: Float64Array;
  readonly #sums: bigint[];
  readonly #minHigh: Int32Array;
  readonly #minLow: Uint32Array;
  readonly #maxHigh: Int32Array;
  readonly #maxLow: Uint32Array;

  constructor(count: number, kind: "integer" | "time") {
    this.#kind = kind;
    this.#values = new Float64Array(count);
    this.#lowSums = new Float64Array(count);
    this.#highSums = new Float64Array(count);
    this.#sums = Array.from({ length: count }, () => 0n);
    this.#minHigh = new Int32Array(count).fill(0x7fffffff);
    this.#minLow = new Uint32Array(count).fill(0xffffffff);
    this.#maxHigh = new Int32Array(count).fill(-0x80000000);
    this.#maxLow = new Uint32Array(count);
  }

  add(halves: Int32Array, validity: Uint8Array | null, { from, to, groups, group }: Span): void {
    const isSummed = this.#kind === "integer";
    const values = this.#values;
    const [lowSums, highSums] = [this.#lowSums, this.#highSums];
    const [minHigh, minLow, maxHigh, maxLow] = [
      this.#minHigh,
      this.#minLow,
      this.#maxHigh,
      this.#maxLow,
    ];
    for (let row = from; row < to; row += 1) {
      if (validity !== null && ((validity[row >> 3] as number) & (1 << (row & 7))) === 0) continue;
      const at = groups === undefined ? group : groups[row] as number;
      const low = (halves[2 * row] as number) >>> 0;
      const high = halves[2 * row + 1] as number;
      values[at] = (values[at] as number) + 1;
      if (isSummed) {
        lowSums[at] = (lowSums[at] as number) + low;
        highSums[at] = (highSums[at] as number) + high;
      }
      const smallestHigh = minHigh[at] as number;
      if (high < smallestHigh || (high === smallestHigh && low < (minLow[at] as number))) {
        minHigh[at] = high;
        minLow[at] = low;
      }
      const largestHigh = maxHigh[at] as number;
      if (high > largestHigh || (high === largestHigh && low > (maxLow[at] as number))) {
        maxHigh[at] = high;
        maxLow[at] = low;
      }
    }
  }

  carry(): void {
    for (let at = 0; at < this.#sums.length; at += 1) {
      const [high, low] = [this.#highSums[at] as number, this.#lowSums[at] as number];
      if (high === 0 && low === 0) continue;
      this.#sums[at] = (this.#sums[at] as bigint) + BigInt(high) * 0x1_0000_0000n + BigInt(low);
    }
    this.#highSums.fill(0);
    this.#lowSums.fill(0);
  }

  finish(): MeasuredColumn {
    const kind = this.#kind;
    const bound = (high: Int32Array, low: Uint32Array) =>
      Array.from(
        high,
        (value, at) =>
          this.#values[at] === 0 ? 0n : (BigInt(value) << 32n) | BigInt(low[at] as number),
      );
    return {
      kind,
      values: this.#values,
      smallest: bound(this.#minHigh, this.#minLow),
      largest: bound(this.#maxHigh, this.#maxLow),
      sums: kind === "time" ? undefined : {
        units: 0,
        sums: this.#sums,
        absolutes: this.#sums.map(() => 0n),
      },
    };
  }
}

/** 32-bit integers as halves of 64-bit ones. */
function widened(data: ColumnData, rows: number): Int32Array {
  const aligned = data.values.byteOffset % 4 === 0 ? data.values : data.values.slice();
  const values = new Int32Array(aligned.buffer, aligned.byteOffset, rows);
  const halves = new Int32Array(2 * rows);
  for (let row = 0; row < rows; row += 1) {
    const value = values[row] as number;
    halves[2 * row] = value;
    halves[2 * row + 1] = value >> 31;
  }
  return halves;
}

/** README.md tells why a sum needs them. */
const UNITS = [0, 20];
const EXACT_MAX = 2 ** 53;

function measureDoubles(
  pieces: readonly ColumnPiece[],
  { groups, count }: RowGroups,
): MeasuredColumn | undefined {
  const state: DoubleState = {
    values: new Float64Array(count),
    smallest: new Float64Array(count).fill(NaN),
    largest: new Float64Array(count).fill(-Infinity),
  };
  const columns = pieces.map(({ data, rows }) => {
    const aligned = data.values.byteOffset % 8 === 0 ? data.values : data.values.slice();
    return { doubles: new Float64Array(aligned.buffer, aligned.byteOffset, rows), data };
  });
  let base = 0;
  for (const { doubles, data: { validity } } of columns) {
    if (!addDoubles(state, { doubles, validity, groups: groups?.subarray(base) })) return undefined;
    base += doubles.length;
  }
  const bounds = (all: Float64Array) =>
    Array.from(all, (value, at) => state.values[at] === 0 ? 0 : value);
  return {
    kind: "double",
    values: state.values,
    smallest: bounds(state.smallest),
    largest: bounds(state.largest),
    sums: UNITS.map((units) => sumsOf(columns, { groups, count, units })).find(Boolean),
  };
}

/** By group. */
interface DoubleState {
  readonly values: Float64Array;
  readonly smallest: Float64Array;
  readonly largest: Float64Array;
}

/** False: one of them is -0. */
function addDoubles(
  { values, smallest, largest }: DoubleState,
  { doubles, validity, groups }: {
    readonly doubles: Float64Array;
    readonly validity: Uint8Array | null;
    /** The group of each row; undefined: all are in group 0. */
    readonly groups: Uint16Array | Uint32Array | undefined;
  },
): boolean {
  for (let row = 0; row < doubles.length; row += 1) {
    if (validity !== null && ((validity[row >> 3] as number) & (1 << (row & 7))) === 0) continue;
    const at = groups === undefined ? 0 : groups[row] as number;
    const value = doubles[row] as number;
    if (value === 0 && Object.is(value, -0)) return false;
    const before = values[at] as number;
    values[at] = before + 1;
    // NaN is larger than all others to DuckDB.
    const least = smallest[at] as number;
    if (before === 0 || value < least || Number.isNaN(least)) smallest[at] = value;
    if (before === 0 || value > (largest[at] as number) || Number.isNaN(value)) {
      largest[at] = value;
    }
  }
  return true;
}

function sumsOf(
  columns: readonly { readonly doubles: Float64Array; readonly data: ColumnData }[],
  { groups, count, units }: RowGroups & { readonly units: number },
): MeasureSums | undefined {
  const sums = new Float64Array(count);
  const absolutes = new Float64Array(count);
  let total = 0;
  let base = 0;
  for (const { doubles, data: { validity } } of columns) {
    for (let row = 0; row < doubles.length; row += 1) {
      if (validity !== null && ((validity[row >> 3] as number) & (1 << (row & 7))) === 0) continue;
      const at = groups === undefined ? 0 : groups[base + row] as number;
      const scaled = (doubles[row] as number) * 2 ** units;
      // Infinity and NaN are no whole numbers, either.
      if (!Number.isInteger(scaled)) return undefined;
      const absolute = Math.abs(scaled);
      total += absolute;
      if (total >= EXACT_MAX) return undefined;
      sums[at] = (sums[at] as number) + scaled;
      absolutes[at] = (absolutes[at] as number) + absolute;
    }
    base += doubles.length;
  }
  return { units, sums: Array.from(sums, BigInt), absolutes: Array.from(absolutes, BigInt) };
}
