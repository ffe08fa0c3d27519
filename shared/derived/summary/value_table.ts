/**
 * The distinct values of a column, numbered in the order in which they first occur: a hash table
 * over the columns' own buffers, which must stay as they are.
 */

import { present } from "../../base/assert.ts";
import { textOf, viewOf } from "../../base/bytes.ts";
import type { ColumnData } from "../../columns/batch.ts";
import { areSameBytesAt, hashOfBytes } from "../../columns/value_bytes.ts";
import type { GroupType } from "./summary_blobs.ts";

/** A column of a data file, piece by piece. */
export interface ColumnPiece {
  readonly rows: number;
  readonly data: ColumnData;
}

/**
 * More slots than this are full in a row only where somebody chose the values to be so: the column
 * is not counted.
 */
const PROBES_MAX = 64;
const SLOTS_MIN = 1024;

/** Open addressing; the load stays below a quarter. */
export class ValueTable {
  readonly type: GroupType;
  readonly #valuesMax: number;
  #slots = new Int32Array(SLOTS_MIN);
  /** By id: its hash, and where the value is, as a piece's bytes. */
  #hashes = new Int32Array(SLOTS_MIN / 4 + 1);
  #starts = new Int32Array(SLOTS_MIN / 4 + 1);
  #lengths = new Int32Array(SLOTS_MIN / 4 + 1);
  readonly #views: DataView[] = [];
  /** The first id of each view; ids of a view are in a row. */
  readonly #firstIds: number[] = [];
  #size = 0;

  constructor(type: GroupType, valuesMax: number) {
    this.type = type;
    this.#valuesMax = valuesMax;
  }

  /** Values so far: ids 1 to this one. */
  get size(): number {
    return this.#size;
  }

  /**
   * Ids of a piece's rows into `ids`, which holds zeros: NULL keeps 0. False when there are too
   * many values, or one that is not counted: -0, which is the same group as 0 and another text.
   */
  add({ data, rows }: ColumnPiece, ids: Uint16Array | Uint32Array): boolean {
    const { validity } = data;
    const { values, width } = bytesOf(this.type, data, rows);
    const view = viewOf(values);
    this.#views.push(view);
    this.#firstIds.push(this.#size + 1);
    const offsets = width === 0 ? present(data.offsets, "offsets") : undefined;
    let lastStart = 0;
    let lastLength = -1;
    let lastId = 0;
    for (let row = 0; row < rows; row += 1) {
      if (validity !== null && ((validity[row >> 3] as number) & (1 << (row & 7))) === 0) continue;
      const start = offsets === undefined ? row * width : offsets[row] as number;
      const length = offsets === undefined ? width : (offsets[row + 1] as number) - start;
      if (length === lastLength && areSameBytesAt(view, start, view, lastStart, length)) {
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

  byteLength(id: number): number {
    return this.#lengths[id] as number;
  }

  /** The bytes of a value as its column's buffer has them; a bool is a byte. */
  bytes(id: number): Uint8Array {
    const view = this.#viewOf(id);
    return new Uint8Array(
      view.buffer,
      view.byteOffset + (this.#starts[id] as number),
      this.#lengths[id],
    );
  }

  text(id: number): string {
    const view = this.#viewOf(id);
    const start = this.#starts[id] as number;
    switch (this.type) {
      case "string":
        return textOf(this.bytes(id));
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

  #idOf(view: DataView, start: number, length: number): number {
    const hash = hashOfBytes(view, start, length);
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (let probes = 0;; probes += 1, slot = (slot + 1) & mask) {
      if (probes > PROBES_MAX) return 0;
      const id = this.#slots[slot] as number;
      if (id === 0) break;
      if (
        this.#hashes[id] === hash && this.#lengths[id] === length &&
        areSameBytesAt(view, start, this.#viewOf(id), this.#starts[id] as number, length)
      ) return id;
    }
    if (this.#size === this.#valuesMax) return 0;
    if (this.type === "double" && Object.is(view.getFloat64(start, true), -0)) return 0;
    this.#size += 1;
    const id = this.#size;
    this.#slots[slot] = id;
    this.#hashes[id] = hash;
    this.#starts[id] = start;
    this.#lengths[id] = length;
    if (4 * (id + 1) > this.#slots.length) this.#grow();
    return id;
  }

  #viewOf(id: number): DataView {
    let at = this.#views.length - 1;
    while (at > 0 && (this.#firstIds[at] as number) > id) at -= 1;
    return this.#views[at] as DataView;
  }

  #grow(): void {
    const slots = new Int32Array(4 * this.#slots.length);
    const mask = slots.length - 1;
    for (let id = 1; id <= this.#size; id += 1) {
      let slot = (this.#hashes[id] as number) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = id;
    }
    this.#slots = slots;
    const widened = (list: Int32Array<ArrayBuffer>) => {
      const wider = new Int32Array(slots.length / 4 + 1);
      wider.set(list);
      return wider;
    };
    this.#hashes = widened(this.#hashes);
    this.#starts = widened(this.#starts);
    this.#lengths = widened(this.#lengths);
  }
}

/** The column's values as bytes of `width` each; 0 where offsets tell. */
function bytesOf(
  type: GroupType,
  data: ColumnData,
  rows: number,
): { readonly values: Uint8Array; readonly width: number } {
  if (type === "string") return { values: data.values, width: 0 };
  if (type === "bool") {
    const bytes = new Uint8Array(rows);
    for (let row = 0; row < rows; row += 1) {
      bytes[row] = ((data.values[row >> 3] as number) >> (row & 7)) & 1;
    }
    return { values: bytes, width: 1 };
  }
  if (type !== "double") return { values: data.values, width: type === "int" ? 4 : 8 };
  return { values: withOneNaN(data.values, rows), width: 8 };
}

/** All NaN are one value to DuckDB: here they get one form of bytes. */
function withOneNaN(values: Uint8Array, rows: number): Uint8Array {
  const copy = values.slice(0, 8 * rows);
  const doubles = new Float64Array(copy.buffer);
  for (let row = 0; row < rows; row += 1) {
    if (Number.isNaN(doubles[row])) doubles[row] = NaN;
  }
  return copy;
}
