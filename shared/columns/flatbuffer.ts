/**
 * The part of the FlatBuffers format that Arrow IPC metadata needs: a bounds-checked reader and a
 * writer. The writer lays parents before children, so that every offset is positive and patched
 * once.
 *
 * Invariant: the reader never reads outside the bytes it was given; bytes that say otherwise throw
 * `corrupt`. Not covered: vtable sharing, unions of scalars, 64-bit offsets.
 * Source: https://flatbuffers.dev/internals
 */

import { assert } from "../base/assert.ts";
import { utf8, viewOf } from "../base/bytes.ts";
import { OperatingError } from "../base/errors.ts";

/** A vector of structs or of scalars: where its elements start and how many there are. */
export interface VectorSpan {
  readonly at: number;
  readonly length: number;
}

const textDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** One table of a buffer. Fields are addressed by their slot number in the schema. */
export class FlatTable {
  readonly #view: DataView;
  readonly #at: number;
  readonly #vtable: number;
  readonly #vtableBytes: number;

  private constructor(view: DataView, at: number) {
    this.#view = view;
    this.#at = within(view, at, 4);
    this.#vtable = within(view, at - view.getInt32(at, true), 4);
    this.#vtableBytes = view.getUint16(this.#vtable, true);
    within(view, this.#vtable, this.#vtableBytes);
  }

  /** The root table of `bytes`. */
  static root(bytes: Uint8Array): FlatTable {
    const view = viewOf(bytes);
    within(view, 0, 4);
    return new FlatTable(view, view.getUint32(0, true));
  }

  bool(slot: number, absent: boolean): boolean {
    const at = this.#field(slot, 1);
    return at === undefined ? absent : this.#view.getUint8(at) !== 0;
  }

  uint8(slot: number, absent: number): number {
    const at = this.#field(slot, 1);
    return at === undefined ? absent : this.#view.getUint8(at);
  }

  int16(slot: number, absent: number): number {
    const at = this.#field(slot, 2);
    return at === undefined ? absent : this.#view.getInt16(at, true);
  }

  int32(slot: number, absent: number): number {
    const at = this.#field(slot, 4);
    return at === undefined ? absent : this.#view.getInt32(at, true);
  }

  /** A 64-bit field that counts bytes or rows: not negative and exact as a number. */
  count(slot: number): number {
    const at = this.#field(slot, 8);
    return at === undefined ? 0 : this.#countAt(at);
  }

  string(slot: number): string | undefined {
    const span = this.vector(slot, 1);
    if (span === undefined) return undefined;
    const view = this.#view;
    try {
      return textDecoder.decode(
        new Uint8Array(view.buffer, view.byteOffset + span.at, span.length),
      );
    } catch (cause) {
      throw corrupt("a string is not UTF-8", cause);
    }
  }

  table(slot: number): FlatTable | undefined {
    const at = this.#field(slot, 4);
    return at === undefined ? undefined : new FlatTable(this.#view, this.#follow(at));
  }

  tables(slot: number): FlatTable[] {
    const span = this.vector(slot, 4);
    const tables: FlatTable[] = [];
    for (let i = 0; i < (span?.length ?? 0); i += 1) {
      tables.push(new FlatTable(this.#view, this.#follow((span?.at ?? 0) + 4 * i)));
    }
    return tables;
  }

  /** A vector of elements of `width` bytes; undefined when the field is absent. */
  vector(slot: number, width: number): VectorSpan | undefined {
    const field = this.#field(slot, 4);
    if (field === undefined) return undefined;
    const at = within(this.#view, this.#follow(field), 4);
    const length = this.#view.getUint32(at, true);
    within(this.#view, at + 4, length * width);
    return { at: at + 4, length };
  }

  /** Numbers of a vector of structs that consist of two 64-bit counts each. */
  pairs(slot: number): number[] {
    const span = this.vector(slot, 16);
    const counts: number[] = [];
    for (let i = 0; i < (span?.length ?? 0) * 2; i += 1) {
      counts.push(this.#countAt((span?.at ?? 0) + 8 * i));
    }
    return counts;
  }

  #countAt(at: number): number {
    const high = this.#view.getInt32(at + 4, true);
    if (high < 0 || high > 0x1fffff) throw corrupt(`a count's upper half is ${high}`);
    return high * 0x1_0000_0000 + this.#view.getUint32(at, true);
  }

  #follow(at: number): number {
    return at + this.#view.getUint32(at, true);
  }

  #field(slot: number, width: number): number | undefined {
    const entry = 4 + 2 * slot;
    if (entry + 2 > this.#vtableBytes) return undefined;
    const offset = this.#view.getUint16(this.#vtable + entry, true);
    return offset === 0 ? undefined : within(this.#view, this.#at + offset, width);
  }
}

function within(view: DataView, at: number, length: number): number {
  if (at < 0 || at + length > view.byteLength) {
    throw corrupt(`${length} bytes at ${at} lie outside its ${view.byteLength} bytes`);
  }
  return at;
}

function corrupt(what: string, cause?: unknown): OperatingError {
  return new OperatingError("corrupt", `Cannot read Arrow metadata: ${what}`, { cause });
}

/** A field of a table to write. `slot` is its number in the schema. */
export type FlatField =
  | { readonly slot: number; readonly width: 1 | 2 | 4 | 8; readonly value: number }
  | { readonly slot: number; readonly child: FlatChild };

export type FlatChild =
  | { readonly kind: "table"; readonly fields: readonly FlatField[] }
  | { readonly kind: "string"; readonly text: string }
  | { readonly kind: "vector"; readonly items: readonly FlatChild[] };

/** A table with these fields, in the order of their ids. */
export function flatTable(...fields: FlatField[]): FlatChild {
  return { kind: "table", fields };
}

/** The bytes of a buffer whose root is `root`, padded to 8 bytes. */
export function writeFlatbuffer(root: FlatChild): Uint8Array<ArrayBuffer> {
  const writer = new FlatWriter();
  writer.reserve(4, 4);
  writer.patch(0, writer.child(root));
  return writer.finish();
}

class FlatWriter {
  #view = new DataView(new ArrayBuffer(4096));
  #length = 0;

  child(child: FlatChild): number {
    if (child.kind === "table") return this.#table(child.fields);
    return child.kind === "string" ? this.#string(child.text) : this.#vector(child.items);
  }

  /** Room for `length` bytes at a multiple of `alignment`, zeroed; returns where. */
  reserve(length: number, alignment: number): number {
    const at = Math.ceil(this.#length / alignment) * alignment;
    this.#length = at + length;
    if (this.#length > this.#view.byteLength) {
      const grown = new Uint8Array(2 * this.#length);
      grown.set(new Uint8Array(this.#view.buffer));
      this.#view = new DataView(grown.buffer);
    }
    return at;
  }

  /** Makes the offset field at `at` point to `target`. */
  patch(at: number, target: number): void {
    assert(target > at, "children follow their parents");
    this.#view.setUint32(at, target - at, true);
  }

  finish(): Uint8Array<ArrayBuffer> {
    this.reserve(0, 8);
    return new Uint8Array(this.#view.buffer as ArrayBuffer, 0, this.#length).slice();
  }

  #table(fields: readonly FlatField[]): number {
    const slots = fields.reduce((most, field) => Math.max(most, field.slot + 1), 0);
    const vtable = this.reserve(4 + 2 * slots, 2);
    const at = this.reserve(4, 8);
    this.#view.setInt32(at, at - vtable, true);
    const children: { at: number; child: FlatChild }[] = [];
    for (const field of fields) {
      const fieldAt = this.#field(field);
      this.#view.setUint16(vtable + 4 + 2 * field.slot, fieldAt - at, true);
      if ("child" in field) children.push({ at: fieldAt, child: field.child });
    }
    this.#view.setUint16(vtable, 4 + 2 * slots, true);
    this.#view.setUint16(vtable + 2, this.#length - at, true);
    for (const { at, child } of children) this.patch(at, this.child(child));
    return at;
  }

  #field(field: FlatField): number {
    if ("child" in field) return this.reserve(4, 4);
    const at = this.reserve(field.width, field.width);
    if (field.width === 1) this.#view.setUint8(at, field.value);
    else if (field.width === 2) this.#view.setInt16(at, field.value, true);
    else if (field.width === 4) this.#view.setInt32(at, field.value, true);
    else this.#view.setBigInt64(at, BigInt(field.value), true);
    return at;
  }

  #string(text: string): number {
    const bytes = utf8(text);
    const at = this.reserve(4 + bytes.length + 1, 4);
    this.#view.setUint32(at, bytes.length, true);
    new Uint8Array(this.#view.buffer).set(bytes, at + 4);
    return at;
  }

  #vector(items: readonly FlatChild[]): number {
    const at = this.reserve(4 + 4 * items.length, 4);
    this.#view.setUint32(at, items.length, true);
    items.forEach((item, i) => this.patch(at + 4 + 4 * i, this.child(item)));
    return at;
  }
}
