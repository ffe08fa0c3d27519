/**
 * Where the values of string columns occur, and the members of JSON objects, each known by its hash alone: for questions
 * of equality.
 *
 * Two that share a hash are one: an index may say "may be here" too often. Where the text of a member is not plain to see
 * (`member_hashes.ts`) the row is listed under the member's name, and where a value is no JSON object or long, under the
 * column.
 */

import { isNull } from "../../columns/rows.ts";
import type { ColumnPart } from "./collect_words.ts";
import { hashByte, mixed } from "./hash.ts";
import { MemberHashes } from "./member_hashes.ts";
import { Occurrences, type Places, PROBES_MAX, THINGS_MAX, TooMuchToIndex } from "./occurrences.ts";
import {
  COLUMN_EMPTY,
  COLUMN_OBJECTS,
  COLUMN_PLAIN,
  type ColumnHashes,
  columnHashes,
  VALUE_BYTES_MAX,
} from "./values_format.ts";

/** What was found in one column. */
export interface ColumnValues {
  readonly id: number;
  /** One of `COLUMN_…`. */
  readonly kind: number;
  /** There are rows of which nothing is known. */
  readonly hasUnknown: boolean;
  readonly hashes: Uint32Array;
  /** Of the hashes, by their number. */
  readonly places: Places;
}

/** So many values of a column tell whether it holds JSON objects. */
const SAMPLE = 64;
const BRACE = 0x7b;
const BRACE_END = 0x7d;

/** A granule has 2^`shift` rows. Errors: `TooMuchToIndex`. */
export function collectValues(
  id: number,
  { parts, shift }: { readonly parts: readonly ColumnPart[]; readonly shift: number },
): ColumnValues {
  const collector = new ValueCollector(id, kindOf(parts));
  let row = 0;
  for (const { rows, data } of parts) {
    const offsets = data.offsets as Int32Array;
    for (let at = 0; at < rows; at += 1, row += 1) {
      if (isNull(data, at)) continue;
      const [start, end] = [offsets[at] as number, offsets[at + 1] as number];
      collector.add(data.values, { start, end, granule: row >>> shift });
    }
  }
  return collector.finish();
}

interface Place {
  readonly start: number;
  readonly end: number;
  readonly granule: number;
}

class ValueCollector {
  readonly #id: number;
  readonly #kind: number;
  readonly #table = new HashTable();
  readonly #occurrences = new Occurrences();
  readonly #column: ColumnHashes;
  readonly #members: MemberHashes;
  #hasUnknown = false;

  constructor(id: number, kind: number) {
    this.#id = id;
    this.#kind = kind;
    this.#column = columnHashes(id);
    this.#members = new MemberHashes(this.#column);
  }

  add(values: Uint8Array, { start, end, granule }: Place): void {
    this.#occurrences.moveTo(granule);
    if (this.#kind === COLUMN_OBJECTS) this.#addObject(values, start, end);
    else this.#addValue(values, start, end);
  }

  finish(): ColumnValues {
    const hashes = this.#table.hashes();
    return {
      id: this.#id,
      kind: this.#kind,
      hasUnknown: this.#hasUnknown,
      hashes,
      places: this.#occurrences.finish(hashes.length),
    };
  }

  #addValue(values: Uint8Array, start: number, end: number): void {
    if (end - start > VALUE_BYTES_MAX) return this.#addUnknown();
    let hash = this.#column.value;
    for (let at = start; at < end; at += 1) hash = hashByte(hash, values[at] as number);
    this.#occurrences.add(this.#table.numberOf(mixed(hash)));
  }

  #addObject(values: Uint8Array, start: number, end: number): void {
    const members = this.#members;
    if (!members.read(values, start, end)) return this.#addUnknown();
    for (let at = 0; at < members.count; at += 1) {
      this.#occurrences.add(this.#table.numberOf(members.found[at] as number));
    }
  }

  #addUnknown(): void {
    this.#hasUnknown = true;
    this.#occurrences.add(this.#table.numberOf(mixed(this.#column.unknown)));
  }
}

/** Objects, where the first values all look like it. */
function kindOf(parts: readonly ColumnPart[]): number {
  let seen = 0;
  for (const { rows, data } of parts) {
    const offsets = data.offsets as Int32Array;
    for (let at = 0; at < rows && seen < SAMPLE; at += 1) {
      if (isNull(data, at)) continue;
      const [start, end] = [offsets[at] as number, offsets[at + 1] as number];
      if (data.values[start] !== BRACE || data.values[end - 1] !== BRACE_END || start === end) {
        return COLUMN_PLAIN;
      }
      seen += 1;
    }
  }
  return seen === 0 ? COLUMN_EMPTY : COLUMN_OBJECTS;
}

/** Numbers distinct hashes. */
class HashTable {
  #count = 0;
  #hashes = new Int32Array(1024);
  /** One more than the number of the hash; 0: free. */
  #slots = new Int32Array(4096);

  numberOf(hash: number): number {
    const [hashes, slots, wanted] = [this.#hashes, this.#slots, hash | 0];
    const mask = slots.length - 1;
    let slot = wanted & mask;
    for (let probes = 0; probes < PROBES_MAX; probes += 1, slot = (slot + 1) & mask) {
      const number = (slots[slot] as number) - 1;
      if (number < 0) return this.#add(slot, wanted);
      if (hashes[number] === wanted) return number;
    }
    throw new TooMuchToIndex(`${PROBES_MAX} values of like hashes`);
  }

  #add(slot: number, hash: number): number {
    const number = this.#count;
    if (number === this.#hashes.length) {
      const larger = new Int32Array(2 * number);
      larger.set(this.#hashes);
      this.#hashes = larger;
    }
    this.#hashes[number] = hash;
    this.#slots[slot] = number + 1;
    this.#count += 1;
    if (3 * this.#count > this.#slots.length) this.#rehash();
    return number;
  }

  hashes(): Uint32Array {
    return new Uint32Array(this.#hashes.buffer, 0, this.#count);
  }

  #rehash(): void {
    if (this.#count > THINGS_MAX) throw new TooMuchToIndex(`more than ${THINGS_MAX} values`);
    const slots = new Int32Array(4 * this.#slots.length);
    const mask = slots.length - 1;
    for (let number = 0; number < this.#count; number += 1) {
      let slot = (this.#hashes[number] as number) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = number + 1;
    }
    this.#slots = slots;
  }
}
