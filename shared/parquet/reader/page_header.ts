/**
 * Headers of pages, in Thrift's compact protocol: structs whose numbers, structs and lists of
 * structs are of interest, and texts that are not.
 */

import { crc32 } from "../../base/bytes.ts";
import { unzigzag } from "../../columns/varint.ts";
import { PAGE } from "../writer/format.ts";

export interface PageHeader {
  /** One of `PAGE.type…`. */
  readonly type: number;
  readonly encoding: number;
  /** Nulls included. */
  readonly values: number;
  readonly byteLength: number;
  /** When it is not compressed. */
  readonly plainBytes: number;
  /** Where in the file the page begins. */
  readonly bodyAt: number;
  /** CRC-32 of the page as it is stored; undefined where its writer made none. */
  readonly crc: number | undefined;
}

/** A file that is as it should be, but of other parts than those that are read here. */
export class NotOurs extends Error {
  override readonly name = "NotOurs";
}

const TYPE = {
  stop: 0,
  true: 1,
  false: 2,
  byte: 3,
  i16: 4,
  i32: 5,
  i64: 6,
  binary: 8,
  list: 9,
  struct: 12,
};
/** Structs within each other: a page's header has three at most. */
const DEPTH_MAX = 8;

/** The fields of a struct by their ids. */
interface Fields {
  readonly numbers: ReadonlyMap<number, number>;
  readonly structs: ReadonlyMap<number, Fields>;
  readonly lists: ReadonlyMap<number, readonly Fields[]>;
}

/** The header at `at`. Errors: `NotOurs`; others for bytes that are no header. */
export function readPageHeader(file: Uint8Array, at: number): PageHeader {
  const reader = new ThriftReader(file, at);
  const { numbers, structs } = reader.struct();
  const type = numberOf(numbers, PAGE.type);
  const isDictionary = type === PAGE.typeDictionary;
  const about = structs.get(isDictionary ? PAGE.dictionary : PAGE.data);
  if (about === undefined) throw new NotOurs(`a page of type ${type}`);
  const crc = numbers.get(PAGE.crc);
  return {
    type,
    encoding: numberOf(about.numbers, isDictionary ? PAGE.dictionaryEncoding : PAGE.dataEncoding),
    values: numberOf(about.numbers, isDictionary ? PAGE.dictionaryValues : PAGE.dataValues),
    byteLength: numberOf(numbers, PAGE.bytes),
    plainBytes: numberOf(numbers, PAGE.plainBytes),
    bodyAt: reader.at,
    crc: crc === undefined ? undefined : crc >>> 0,
  };
}

/** Throws where `stored`, the page behind `header`, is not what was written. */
export function checkPage({ crc }: PageHeader, stored: Uint8Array): void {
  if (crc !== undefined && crc !== crc32(stored)) throw new Error("a page fails its checksum");
}

function numberOf(numbers: ReadonlyMap<number, number>, id: number): number {
  const number = numbers.get(id);
  if (number === undefined || number < 0) throw new Error(`a page's header has ${number} as ${id}`);
  return number;
}

/** Reads structs; `at` is the place of the next byte. */
export class ThriftReader {
  readonly #bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  struct(depth = 0): Fields {
    if (depth > DEPTH_MAX) throw new Error("a page's header has no end");
    const numbers = new Map<number, number>();
    const structs = new Map<number, Fields>();
    const lists = new Map<number, readonly Fields[]>();
    for (let id = 0;;) {
      const head = this.#byte();
      const type = head & 15;
      if (type === TYPE.stop) return { numbers, structs, lists };
      id = head >> 4 === 0 ? unzigzag(this.#varint()) : id + (head >> 4);
      if (type === TYPE.struct) structs.set(id, this.struct(depth + 1));
      else if (type === TYPE.list) lists.set(id, this.#list(depth + 1));
      else if (type === TYPE.binary) this.at += this.#varint();
      else if (type === TYPE.byte) this.at += 1;
      else if (type >= TYPE.i16 && type <= TYPE.i64) numbers.set(id, unzigzag(this.#varint()));
      else if (type !== TYPE.true && type !== TYPE.false) {
        throw new NotOurs(`a field of type ${type}`);
      }
    }
  }

  #list(depth: number): Fields[] {
    const head = this.#byte();
    if ((head & 15) !== TYPE.struct) throw new NotOurs(`a list of type ${head & 15}`);
    const length = head >> 4 === 15 ? this.#varint() : head >> 4;
    // Each takes a byte at least.
    if (length > this.#bytes.length - this.at) throw new Error("a list is cut");
    return Array.from({ length }, () => this.struct(depth));
  }

  #byte(): number {
    const byte = this.#bytes[this.at];
    if (byte === undefined) throw new Error("a page's header is cut");
    this.at += 1;
    return byte;
  }

  #varint(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 63; scale *= 128) {
      const byte = this.#byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    throw new Error("a page's header has a number without end");
  }
}
