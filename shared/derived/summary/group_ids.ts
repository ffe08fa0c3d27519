/**
 * A column's rows as ids of their values: the one pass over text that all counts by value share. Works on the columns'
 * buffers; a text is made of a value once, however many rows have it.
 */

import { present } from "../../base/assert.ts";
import { textOf } from "../../base/bytes.ts";
import type { ColumnData } from "../../columns/batch.ts";
import type { GroupType, GroupValue } from "./summary_blobs.ts";

/** A column of a data file, piece by piece. */
export interface ColumnPiece {
  readonly rows: number;
  readonly data: ColumnData;
}

export interface GroupIds {
  readonly type: GroupType;
  /** Of each row: 0 is NULL, 1 the value that occurs first. */
  readonly ids: Uint16Array;
  /** By id. */
  readonly values: readonly GroupValue[];
}

/**
 * Undefined when there are more than `valuesMax` (at most 65,535) values, or when a double is -0, which is the same
 * group as 0 and another text.
 */
export function groupIds(
  type: GroupType,
  pieces: readonly ColumnPiece[],
  valuesMax: number,
): GroupIds | undefined {
  const rows = pieces.reduce((sum, piece) => sum + piece.rows, 0);
  const ids = new Uint16Array(rows);
  const values = new ValueIds(type, valuesMax);
  let base = 0;
  for (const piece of pieces) {
    if (!values.fill(piece, ids.subarray(base, base + piece.rows))) return undefined;
    base += piece.rows;
  }
  return { type, ids, values: values.texts };
}

/** More slots than this are full in a row only where somebody chose the values to be so: the column gets no ids. */
const PROBES_MAX = 64;

/** Open addressing; the load stays below a quarter. */
class ValueIds {
  readonly texts: GroupValue[] = [null];
  readonly #type: GroupType;
  readonly #valuesMax: number;
  readonly #slots: Int32Array;
  readonly #mask: number;
  /** By id: where the value is, as a piece's bytes; or the halves of a number. */
  readonly #views: DataView[];
  readonly #starts: Int32Array;
  readonly #lengths: Int32Array;

  constructor(type: GroupType, valuesMax: number) {
    this.#type = type;
    this.#valuesMax = valuesMax;
    const slots = 2 ** Math.ceil(Math.log2(4 * (valuesMax + 1)));
    this.#slots = new Int32Array(slots);
    this.#mask = slots - 1;
    this.#views = [new DataView(new ArrayBuffer(0))];
    this.#starts = new Int32Array(valuesMax + 1);
    this.#lengths = new Int32Array(valuesMax + 1);
  }

  /** Ids of a piece's rows into `ids`; false when the column has no ids. */
  fill({ data, rows }: ColumnPiece, ids: Uint16Array): boolean {
    const { validity } = data;
    const { values, width } = this.#bytesOf(data, rows);
    const view = new DataView(values.buffer, values.byteOffset, values.byteLength);
    const offsets = width === 0 ? present(data.offsets, "offsets") : undefined;
    let lastStart = 0;
    let lastLength = -1;
    let lastId = 0;
    for (let row = 0; row < rows; row += 1) {
      if (validity !== null && ((validity[row >> 3] as number) & (1 << (row & 7))) === 0) continue;
      const start = offsets === undefined ? row * width : offsets[row] as number;
      const length = offsets === undefined ? width : (offsets[row + 1] as number) - start;
      if (length === lastLength && isSame(view, start, view, lastStart, length)) {
        ids[row] = lastId;
        continue;
      }
      const id = this.#idOf(view, start, length);
      if (id === 0) return false;
      ids[row] = id;
      lastStart = start;
      lastLength = length;
      lastId = id;
    }
    return true;
  }

  /** The column's values as bytes of `width` each; 0 where offsets tell. */
  #bytesOf(data: ColumnData, rows: number): { values: Uint8Array; width: number } {
    if (this.#type === "string") return { values: data.values, width: 0 };
    if (this.#type === "bool") {
      const bytes = new Uint8Array(rows);
      for (let row = 0; row < rows; row += 1) {
        bytes[row] = ((data.values[row >> 3] as number) >> (row & 7)) & 1;
      }
      return { values: bytes, width: 1 };
    }
    if (this.#type !== "double") {
      return { values: data.values, width: this.#type === "int" ? 4 : 8 };
    }
    return { values: withOneNaN(data.values, rows), width: 8 };
  }

  #idOf(view: DataView, start: number, length: number): number {
    let slot = hashOf(view, start, length) & this.#mask;
    for (let probes = 0;; probes += 1, slot = (slot + 1) & this.#mask) {
      if (probes > PROBES_MAX) return 0;
      const id = this.#slots[slot] as number;
      if (id === 0) break;
      if (
        this.#lengths[id] === length &&
        isSame(view, start, this.#views[id] as DataView, this.#starts[id] as number, length)
      ) return id;
    }
    if (this.texts.length > this.#valuesMax) return 0;
    if (this.#type === "double" && Object.is(view.getFloat64(start, true), -0)) return 0;
    const id = this.texts.length;
    this.#slots[slot] = id;
    this.#views.push(view);
    this.#starts[id] = start;
    this.#lengths[id] = length;
    this.texts.push(this.#textAt(view, start, length));
    return id;
  }

  #textAt(view: DataView, start: number, length: number): string {
    switch (this.#type) {
      case "string":
        return textOf(new Uint8Array(view.buffer, view.byteOffset + start, length));
      case "long":
        return String(view.getBigInt64(start, true));
      case "int":
        return String(view.getInt32(start, true));
      case "double":
        return String(view.getFloat64(start, true));
      case "bool":
        return view.getUint8(start) === 0 ? "false" : "true";
    }
  }
}

/** All NaN are one value to the SQL engine: here they get one form of bytes. */
function withOneNaN(values: Uint8Array, rows: number): Uint8Array {
  const copy = values.slice(0, 8 * rows);
  const doubles = new Float64Array(copy.buffer);
  for (let row = 0; row < rows; row += 1) {
    if (Number.isNaN(doubles[row])) doubles[row] = NaN;
  }
  return copy;
}

function hashOf(view: DataView, start: number, length: number): number {
  let hash = Math.imul(length + 1, 0x9e3779b1);
  let at = start;
  const end = start + length;
  for (; at + 4 <= end; at += 4) {
    hash = Math.imul(hash ^ view.getInt32(at, true), 0x85ebca6b);
    hash ^= hash >>> 15;
  }
  for (; at < end; at += 1) hash = Math.imul(hash ^ view.getUint8(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0xc2b2ae35);
  return hash ^ (hash >>> 13);
}

function isSame(a: DataView, aStart: number, b: DataView, bStart: number, length: number): boolean {
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    if (a.getInt32(aStart + at, true) !== b.getInt32(bStart + at, true)) return false;
  }
  for (; at < length; at += 1) {
    if (a.getUint8(aStart + at) !== b.getUint8(bStart + at)) return false;
  }
  return true;
}
