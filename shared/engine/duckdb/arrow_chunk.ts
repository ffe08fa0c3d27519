/**
 * A result chunk as an Arrow batch. DuckDB's vectors lie in memory as Arrow's arrays do, but for
 * booleans (a byte each), decimals (as narrow as they can be), texts and lists. So most columns are
 * one copy. What lies below a null is not sent: it may be anybody's.
 *
 * A text column's layout is described in `chunk_texts.ts`. A list is 16 bytes a row: where its
 * items begin in the vector of items, and how many they are (8 bytes each, little-endian).
 */

import type * as binding from "@duckdb/node-bindings";
import { viewOf } from "../../base/bytes.ts";
import { arrowBatchPieces, type ArrowBuffer } from "../answer/arrow_message.ts";
import type { ArrowType } from "../arrow_fields.ts";
import { ENTRY_BYTES, Texts } from "./chunk_texts.ts";
import { EngineFault } from "./driver.ts";

export type ArrowBinding = Pick<
  typeof binding,
  | "data_chunk_get_vector"
  | "vector_get_data"
  | "vector_get_validity"
  | "list_vector_get_child"
  | "list_vector_get_size"
  | "struct_vector_get_child"
  | "get_data_from_pointer"
>;

/** Rows of a vector, in the order in which they are sent. */
interface Rows {
  readonly count: number;
  /** Where each lies; undefined: the first `count`. */
  readonly at: Uint32Array | undefined;
  /** Rows that the vector has at least. */
  readonly size: number;
}

const OFFSET_MAX = 0x7fff_ffff;
const EMPTY = new Uint8Array();

/** The message of the first `rows` rows of a chunk, whose columns have `types`, in pieces. */
export function arrowChunk(
  binding: ArrowBinding,
  chunk: binding.DataChunk,
  { rows: count, types }: { readonly rows: number; readonly types: readonly ArrowType[] },
): Uint8Array<ArrayBuffer>[] {
  const writer = new BatchWriter(binding);
  const rows = { count, at: undefined, size: count };
  types.forEach((type, at) => writer.add(binding.data_chunk_get_vector(chunk, at), type, rows));
  return arrowBatchPieces({ rows: count, nodes: writer.nodes, buffers: writer.buffers });
}

class BatchWriter {
  readonly nodes: number[] = [];
  readonly buffers: ArrowBuffer[] = [];

  constructor(private readonly binding: ArrowBinding) {}

  add(vector: binding.Vector, type: ArrowType, rows: Rows): void {
    const { validity, nulls } = this.#validity(vector, rows);
    this.nodes.push(rows.count, nulls);
    this.buffers.push([validity]);
    switch (type.kind) {
      case "utf8":
      case "binary":
        return this.#addTexts(vector, rows, validity);
      case "list":
        return this.#addItems(
          vector,
          rows,
          validity,
          (child, items) => this.add(child, type.item, items),
        );
      case "map":
        return this.#addItems(
          vector,
          rows,
          validity,
          (child, items) => this.#addEntries(child, [type.key, type.value], items),
        );
      case "struct":
        return type.fields.forEach((field, at) =>
          this.add(this.binding.struct_vector_get_child(vector, at), field.type, rows)
        );
      case "bool":
        return void this.buffers.push([bitsOf(this.#fixed(vector, rows, 1), rows.count, validity)]);
      case "decimal": {
        const narrow = this.#valid(this.#fixed(vector, rows, type.bytes), type.bytes, validity);
        return void this.buffers.push([widened(narrow, type.bytes, rows.count)]);
      }
      default: {
        const bytes = bytesOf(type);
        this.buffers.push([this.#valid(this.#fixed(vector, rows, bytes), bytes, validity)]);
      }
    }
  }

  /** Key and value of a map's entries; an entry itself is never null. */
  #addEntries(vector: binding.Vector, types: readonly ArrowType[], rows: Rows): void {
    this.nodes.push(rows.count, 0);
    this.buffers.push([]);
    types.forEach((type, at) =>
      this.add(this.binding.struct_vector_get_child(vector, at), type, rows)
    );
  }

  #validity(
    vector: binding.Vector,
    { count, at, size }: Rows,
  ): { readonly validity: Uint8Array<ArrayBuffer>; readonly nulls: number } {
    const none = { validity: EMPTY, nulls: 0 };
    if (count === 0) return none;
    const words = Math.ceil(size / 64);
    // The binding says null where the whole vector is valid.
    const mask: Uint8Array | null = this.binding.vector_get_validity(vector, 8 * words);
    if (mask === null) return none;
    const validity = new Uint8Array(Math.ceil(count / 8));
    let valid = 0;
    for (let row = 0; row < count; row += 1) {
      const from = at === undefined ? row : at[row] ?? 0;
      if (((mask[from >> 3] ?? 0) >> (from & 7) & 1) === 0) continue;
      validity[row >> 3] = (validity[row >> 3] ?? 0) | 1 << (row & 7);
      valid += 1;
    }
    return valid === count ? none : { validity, nulls: count - valid };
  }

  /** A copy of the rows' values of `width` bytes each. */
  #fixed(
    vector: binding.Vector,
    { count, at, size }: Rows,
    width: number,
  ): Uint8Array<ArrayBuffer> {
    if (count === 0) return new Uint8Array();
    const data = this.binding.vector_get_data(vector, size * width);
    if (at === undefined) return Uint8Array.from(data.subarray(0, count * width));
    const picked = new Uint8Array(count * width);
    at.forEach((from, row) => {
      picked.set(data.subarray(from * width, (from + 1) * width), row * width);
    });
    return picked;
  }

  #valid(
    values: Uint8Array<ArrayBuffer>,
    width: number,
    validity: Uint8Array,
  ): Uint8Array<ArrayBuffer> {
    if (validity.byteLength === 0) return values;
    for (let row = 0; row * width < values.byteLength; row += 1) {
      if (!isValid(validity, row)) values.fill(0, row * width, (row + 1) * width);
    }
    return values;
  }

  #addTexts(vector: binding.Vector, rows: Rows, validity: Uint8Array): void {
    const { count } = rows;
    const offsets = new Int32Array(count + 1);
    this.buffers.push([new Uint8Array(offsets.buffer)]);
    if (count === 0) return void this.buffers.push([]);
    const data = this.binding.vector_get_data(vector, rows.size * ENTRY_BYTES);
    const view = viewOf(data);
    const startOf = (row: number) =>
      (rows.at === undefined ? row : rows.at[row] ?? 0) * ENTRY_BYTES;
    let total = 0;
    for (let row = 0; row < count; row += 1) {
      if (isValid(validity, row)) total += view.getUint32(startOf(row), true);
      if (total > OFFSET_MAX) throw tooLarge();
      offsets[row + 1] = total;
    }
    const texts = new Texts(this.binding, { data, offsets, startOf });
    this.buffers.push(texts.pieces());
  }

  #addItems(
    vector: binding.Vector,
    { count, at, size }: Rows,
    validity: Uint8Array,
    addChild: (child: binding.Vector, items: Rows) => void,
  ): void {
    const offsets = new Int32Array(count + 1);
    this.buffers.push([new Uint8Array(offsets.buffer)]);
    const child = this.binding.list_vector_get_child(vector);
    if (count === 0) return addChild(child, { count: 0, at: undefined, size: 0 });
    const view = viewOf(this.binding.vector_get_data(vector, size * ENTRY_BYTES));
    const firstOf = (row: number) => (at === undefined ? row : at[row] ?? 0) * ENTRY_BYTES;
    let total = 0;
    for (let row = 0; row < count; row += 1) {
      if (isValid(validity, row)) total += Number(view.getBigUint64(firstOf(row) + 8, true));
      if (total > OFFSET_MAX) throw tooLarge();
      offsets[row + 1] = total;
    }
    const picked = new Uint32Array(total);
    for (let row = 0; row < count; row += 1) {
      const [from, end] = [offsets[row] ?? 0, offsets[row + 1] ?? 0];
      const first = end === from ? 0 : Number(view.getBigUint64(firstOf(row), true));
      for (let item = from; item < end; item += 1) picked[item] = first + item - from;
    }
    const items = this.binding.list_vector_get_size(vector);
    addChild(child, { count: total, at: picked, size: items });
  }
}

function isValid(validity: Uint8Array, row: number): boolean {
  return validity.byteLength === 0 || ((validity[row >> 3] ?? 0) >> (row & 7) & 1) === 1;
}

function bytesOf(type: ArrowType): number {
  if (type.kind === "int") return type.bytes;
  return type.kind === "float" || type.kind === "date" ? 4 : 8;
}

function bitsOf(
  bytes: Uint8Array,
  count: number,
  validity: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const bits = new Uint8Array(Math.ceil(count / 8));
  for (let row = 0; row < count; row += 1) {
    if (bytes[row] === 0 || !isValid(validity, row)) continue;
    bits[row >> 3] = (bits[row >> 3] ?? 0) | 1 << (row & 7);
  }
  return bits;
}

/** Signed integers of `width` bytes as such of 16. */
function widened(
  narrow: Uint8Array<ArrayBuffer>,
  width: number,
  count: number,
): Uint8Array<ArrayBuffer> {
  if (width === 16) return narrow;
  const wide = new Uint8Array(16 * count);
  for (let row = 0; row < count; row += 1) {
    const value = narrow.subarray(row * width, (row + 1) * width);
    wide.set(value, 16 * row);
    if ((value[width - 1] ?? 0) > 127) wide.fill(0xff, 16 * row + width, 16 * (row + 1));
  }
  return wide;
}

function tooLarge(): EngineFault {
  return new EngineFault("memory", "the values of one batch take more than 2 GiB");
}
