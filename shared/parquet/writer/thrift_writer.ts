/**
 * Thrift's compact protocol, as far as Parquet's footer and page headers need it: structs, field by
 * field.
 */

import { utf8 } from "../../base/bytes.ts";
import { ByteBuilder } from "../../columns/byte_builder.ts";
import { writeVarint, writeZigzag } from "../../columns/varint.ts";

const TYPE = { stop: 0, true: 1, false: 2, i16: 4, i32: 5, i64: 6, binary: 8, list: 9, struct: 12 };

/** A field's id is written as its distance from the one before, where that is no more. */
const NEAR_MAX = 15;
/** In place of the size of a list: it follows as a number of its own. */
const LONG_LIST = 15;

/** Fields of a struct come in the order of their ids. Integers are below 2^52. */
export class ThriftWriter {
  readonly #out = new ByteBuilder();
  #lastId = 0;

  i16(id: number, value: number): void {
    this.#field(id, TYPE.i16);
    writeZigzag(this.#out, value);
  }

  i32(id: number, value: number): void {
    this.#field(id, TYPE.i32);
    writeZigzag(this.#out, value);
  }

  i64(id: number, value: number): void {
    this.#field(id, TYPE.i64);
    writeZigzag(this.#out, value);
  }

  bool(id: number, value: boolean): void {
    this.#field(id, value ? TYPE.true : TYPE.false);
  }

  binary(id: number, value: Uint8Array): void {
    this.#field(id, TYPE.binary);
    this.#bytes(value);
  }

  text(id: number, value: string): void {
    this.binary(id, utf8(value));
  }

  /** `write` writes the struct's fields. */
  struct(id: number, write: () => void): void {
    this.#field(id, TYPE.struct);
    this.#struct(write);
  }

  structs<T>(id: number, items: readonly T[], write: (item: T) => void): void {
    this.#list(id, TYPE.struct, items.length);
    for (const item of items) this.#struct(() => write(item));
  }

  bools(id: number, items: readonly boolean[]): void {
    this.#list(id, TYPE.true, items.length);
    for (const item of items) this.#out.byte(item ? TYPE.true : TYPE.false);
  }

  i32s(id: number, items: readonly number[]): void {
    this.#list(id, TYPE.i32, items.length);
    for (const item of items) writeZigzag(this.#out, item);
  }

  i64s(id: number, items: readonly number[]): void {
    this.#list(id, TYPE.i64, items.length);
    for (const item of items) writeZigzag(this.#out, item);
  }

  binaries(id: number, items: readonly Uint8Array[]): void {
    this.#list(id, TYPE.binary, items.length);
    for (const item of items) this.#bytes(item);
  }

  /** The struct; nothing can be added afterwards. */
  finish(): Uint8Array<ArrayBuffer> {
    this.#out.byte(TYPE.stop);
    return this.#out.take();
  }

  #field(id: number, type: number): void {
    const distance = id - this.#lastId;
    const isNear = distance > 0 && distance <= NEAR_MAX;
    this.#out.byte(isNear ? distance << 4 | type : type);
    if (!isNear) writeZigzag(this.#out, id);
    this.#lastId = id;
  }

  #struct(write: () => void): void {
    const lastId = this.#lastId;
    this.#lastId = 0;
    write();
    this.#out.byte(TYPE.stop);
    this.#lastId = lastId;
  }

  #list(id: number, itemType: number, size: number): void {
    this.#field(id, TYPE.list);
    this.#out.byte(Math.min(size, LONG_LIST) << 4 | itemType);
    if (size >= LONG_LIST) writeVarint(this.#out, size);
  }

  #bytes(value: Uint8Array): void {
    writeVarint(this.#out, value.byteLength);
    this.#out.append(value);
  }
}
