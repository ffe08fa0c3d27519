/**
 * The attributes of one message, merged by name: of each name the last stands, where it stood. From
 * bytes to bytes, in two passes: the first finds what comes again, the second writes.
 */

import {
  ByteBuilder,
  type CopySource,
  copySourceOf,
} from "../../../shared/columns/byte_builder.ts";
import { utf8 } from "../../../shared/base/bytes.ts";
import { writeJsonName } from "../../../shared/columns/json_writer.ts";
import { NameTable, nameTableOf } from "./name_table.ts";
import type { ValueReader } from "../wire/value_reader.ts";
import type { WireReader } from "../wire/wire_reader.ts";

/**
 * Where a message's attributes are: the fields with `tag` from `start` to `end`, other fields may
 * lie between them.
 */
export interface AttributesSpan {
  readonly start: number;
  readonly end: number;
  readonly tag: number;
}

/** Members that come from elsewhere: of each name one. */
export interface OtherMembers {
  readonly names: NameTable;
  /** `"name":value,…` */
  readonly text: CopySource;
}

const MARKS_MIN = 256;
/** Marks that are kept from one message to the next. */
const MARKS_KEPT_MAX = 64 * 1024;
const NOWHERE: AttributesSpan = { start: 0, end: 0, tag: 0 };
const OPEN = 0x7b;
const COMMA = 0x2c;

export class MergedAttributes {
  readonly #reader: WireReader;
  readonly #values: ValueReader;
  readonly #names = new NameTable();
  #span = NOWHERE;
  /** 1 for each attribute that does not stand. */
  #dropped = new Uint8Array(MARKS_MIN);
  #count = 0;

  constructor(reader: WireReader, values: ValueReader) {
    this.#reader = reader;
    this.#values = values;
  }

  /** The first pass. Throws `too_large` past `REQUEST_ATTRIBUTES_MAX`. */
  read(span: AttributesSpan): void {
    const names = this.#names;
    const values = this.#values;
    this.#span = span;
    names.start(this.#reader.view);
    if (this.#dropped.length > MARKS_KEPT_MAX) this.#dropped = new Uint8Array(MARKS_MIN);
    else this.#dropped.fill(0, 0, this.#count);
    this.#each((number) => {
      values.count();
      this.#count = number + 1;
      if (number === this.#dropped.length) this.#grow();
      const before = names.put(values.keyStart, values.keyEnd);
      if (before >= 0) this.#dropped[before] = 1;
    });
  }

  /** Whether two names are the same, or one is in `reserved`. */
  meet(reserved: NameTable): boolean {
    let isReserved = false;
    this.#names.eachIn(reserved, () => isReserved = true);
    return isReserved || this.#dropped.subarray(0, this.#count).includes(1);
  }

  /** The places in `table` of the names that the attributes have, too, rising. */
  placesIn(table: NameTable): number[] {
    const places: number[] = [];
    this.#names.eachIn(table, (_, place) => places.push(place));
    return places.sort((a, b) => a - b);
  }

  /** Removes the attribute of that name. */
  drop(key: DataView): void {
    const number = this.#names.find(key, 0, key.byteLength);
    if (number >= 0) this.#dropped[number] = 1;
  }

  /** Appends the text of the attribute of that name, if there is one, and removes it. */
  take(key: DataView, out: ByteBuilder): void {
    const wanted = this.#names.find(key, 0, key.byteLength);
    if (wanted < 0) return;
    const values = this.#values;
    const mark = out.length;
    this.#each((number) => {
      if (number === wanted) values.text(out, values.valueStart, values.valueEnd);
    });
    if (out.length > mark) this.#dropped[wanted] = 1;
  }

  /**
   * The second pass: appends what stands to the object that `out` has just opened, and `others`
   * behind it, which stand in place of attributes of their names.
   */
  write(out: ByteBuilder, others: OtherMembers): void {
    this.#names.eachIn(others.names, (number) => {
      this.#dropped[number] = 1;
    });
    const values = this.#values;
    const { view } = this.#reader;
    this.#each((number) => {
      if (this.#dropped[number] === 1) return values.discard();
      const { keyStart, keyEnd, valueStart, valueEnd } = values;
      writeJsonName(out, view, keyStart, keyEnd);
      values.json(out, valueStart, valueEnd);
    });
    const { view: source, length } = others.text;
    if (length > 0 && out.view.getUint8(out.length - 1) !== OPEN) out.byte(COMMA);
    out.copy(source, 0, length);
  }

  /**
   * Calls `visit` with the number of each attribute, whose name and value `ValueReader` has found.
   */
  #each(visit: (number: number) => void): void {
    const { start, end, tag: wanted } = this.#span;
    const reader = this.#reader;
    reader.pos = start;
    for (
      let attributeEnd, number = 0;
      (attributeEnd = reader.next(wanted, end)) >= 0;
      number += 1
    ) {
      this.#values.keyValue(attributeEnd);
      visit(number);
      reader.pos = attributeEnd;
    }
  }

  #grow(): void {
    const dropped = new Uint8Array(2 * this.#dropped.length);
    dropped.set(this.#dropped);
    this.#dropped = dropped;
  }
}

/** The name's UTF-8 as `NameTable` compares it. */
export function nameKeyOf(name: string): DataView {
  return new DataView(utf8(name).slice().buffer);
}

/** `members` with their JSON text, by name. */
export function otherMembers(members: ReadonlyMap<string, Uint8Array>): OtherMembers {
  const names = new ByteBuilder();
  const text = new ByteBuilder();
  const ends: number[] = [];
  for (const [name, json] of members) {
    names.text(name);
    ends.push(names.length);
    if (text.length > 0) text.byte(COMMA);
    text.text(`${JSON.stringify(name)}:`);
    text.append(json);
  }
  return { names: nameTableOf(names.take(), ends), text: copySourceOf(text.take()) };
}

export const NO_OTHERS = otherMembers(new Map());
