/**
 * Where the values of string columns occur, and the members of JSON objects, each known by its hash
 * alone: for questions of equality.
 *
 * Values that share a hash count as one: an index may say "may be here" too often. Where the text
 * of a member is not plain to see (`member_hashes.ts`), the row is listed under the member's name.
 * Where a value is no JSON object or long, it is listed under the column.
 */

import { throwIfLate } from "../../os/task_deadline.ts";
import { viewOf } from "../../base/bytes.ts";
import { isNull } from "../../columns/rows.ts";
import { areSameBytesAt } from "../../columns/value_bytes.ts";
import type { ColumnPart } from "./collect_words.ts";
import { hashBetween, mixed } from "./hash.ts";
import { HashTable } from "./hash_table.ts";
import { MemberHashes } from "./member_hashes.ts";
import { Occurrences, type Places } from "./occurrences.ts";
import { RISING_SHIFT, type RisingMember } from "./rising_numbers.ts";
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
  /** Where each hash occurs, by its number. */
  readonly places: Places;
  /**
   * Members of JSON objects whose numbers are found by where they rise, and mostly have no hash.
   * Default: none.
   */
  readonly rising?: readonly RisingMember[];
  /**
   * By number, 1: its places are not worth listing, and count as everywhere. Default: all are worth
   * it.
   */
  readonly unlisted?: Uint8Array;
}

/** So many values of a column tell whether it holds JSON objects. */
const SAMPLE = 64;
/** Members of an object whose numbers are known at once where the one before had the same. */
const LAST_HASHES = 256;
const UNKNOWN = -1;
const BRACE = 0x7b;
const BRACE_END = 0x7d;
const NO_VALUES: Uint8Array = new Uint8Array(0);

/** A granule has 2^`shift` rows. Errors: `TooMuchToIndex`. */
export function collectValues(
  id: number,
  { parts, shift }: { readonly parts: readonly ColumnPart[]; readonly shift: number },
): ColumnValues {
  const collector = new ValueCollector(id, kindOf(parts));
  let row = 0;
  for (const part of parts) {
    collector.add(part, row, shift);
    row += part.rows;
  }
  return collector.finish();
}

class ValueCollector {
  readonly #id: number;
  readonly #kind: number;
  readonly #table = new HashTable();
  readonly #occurrences = new Occurrences();
  readonly #column: ColumnHashes;
  readonly #members: MemberHashes;
  #hasUnknown = false;
  /** The plain value that came last, and its number. */
  #last = { values: NO_VALUES, view: viewOf(NO_VALUES), start: 0, end: 0, number: UNKNOWN };
  /** The hashes of the members that came last, by their order, and their numbers. */
  readonly #lastHashes = new Uint32Array(LAST_HASHES);
  readonly #lastNumbers = new Int32Array(LAST_HASHES).fill(UNKNOWN);

  constructor(id: number, kind: number) {
    this.#id = id;
    this.#kind = kind;
    this.#column = columnHashes(id);
    this.#members = new MemberHashes(this.#column);
  }

  /** Adds a part whose first row is row `first` of the file. */
  add({ rows, data }: ColumnPart, first: number, shift: number): void {
    const offsets = data.offsets as Int32Array;
    const { values } = data;
    for (let at = 0; at < rows; at += 1) {
      throwIfLate();
      if (isNull(data, at)) continue;
      const [start, end] = [offsets[at] as number, offsets[at + 1] as number];
      this.#occurrences.moveTo((first + at) >>> shift);
      if (this.#kind === COLUMN_OBJECTS) {
        this.#members.rising.moveTo((first + at) >>> RISING_SHIFT);
        this.#addObject(values, start, end);
      } else this.#addValue(values, start, end);
    }
  }

  finish(): ColumnValues {
    const hashes = this.#table.hashes();
    return {
      id: this.#id,
      kind: this.#kind,
      hasUnknown: this.#hasUnknown,
      hashes,
      places: this.#occurrences.finish(hashes.length),
      rising: this.#members.rising.finish(),
    };
  }

  #addValue(values: Uint8Array, start: number, end: number): void {
    if (end - start > VALUE_BYTES_MAX) return this.#addUnknown();
    if (!this.#isLast(values, start, end)) {
      const hash = hashBetween(values, start, end, this.#column.value);
      const last = this.#last;
      if (values !== last.values) last.view = viewOf(values);
      last.values = values;
      last.start = start;
      last.end = end;
      last.number = this.#table.numberOf(mixed(hash));
    }
    this.#occurrences.add(this.#last.number);
  }

  #isLast(values: Uint8Array, start: number, end: number): boolean {
    const last = this.#last;
    return values === last.values && end - start === last.end - last.start &&
      last.number !== UNKNOWN &&
      areSameBytesAt(last.view, start, last.view, last.start, end - start);
  }

  #addObject(values: Uint8Array, start: number, end: number): void {
    const members = this.#members;
    if (!members.read(values, start, end)) return this.#addUnknown();
    for (let at = 0; at < members.count; at += 1) {
      const hash = members.found[at] as number;
      const place = at % LAST_HASHES;
      if (hash !== this.#lastHashes[place] || this.#lastNumbers[place] === UNKNOWN) {
        this.#lastHashes[place] = hash;
        this.#lastNumbers[place] = this.#table.numberOf(hash);
      }
      this.#occurrences.add(this.#lastNumbers[place] as number);
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
