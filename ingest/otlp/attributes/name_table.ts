/**
 * Which names of one object are the same: names are spans of bytes, told apart exactly and without
 * a string for each.
 *
 * Open addressing with the names' hashes beside them; a table is emptied by counting on, not by
 * writing. Hashes depend on a number that no sender knows. Names that share places all the same,
 * far more than chance gives, are refused: nothing takes longer than its bytes let expect.
 */

import { viewOf } from "../../../shared/base/bytes.ts";
import { OperatingError } from "../../../shared/base/errors.ts";
import { areSameBytesAt } from "../../../shared/columns/value_bytes.ts";
import { OBJECT_NAMES_MAX, tooManyNames } from "../request_limits.ts";

const SLOTS_MIN = 64;
/** Tables of more slots are given back after use. */
const SLOTS_KEPT_MAX = 64 * 1024;
/** Places looked at, for each name that is looked up; by chance it is less than two. */
const LOOKS_PER_NAME_MAX = 8;
const LOOKS_MIN = 1_000;
const SEED = crypto.getRandomValues(new Int32Array(1))[0] as number;
const NO_BYTES = new DataView(new ArrayBuffer(0));
const ENTRY_FIELDS = 4;
const START = 1;
const END = 2;
const LATEST = 3;
const NO_NUMBERS = new Int32Array(0);

type HashOf = (view: DataView, start: number, end: number) => number;

export class NameTable {
  readonly #namesMax: number;
  readonly #hashOf: HashOf;
  /** Where the names' bytes are. */
  #view: DataView = NO_BYTES;
  /** How many names were put, repeated ones as well. */
  #puts = 0;
  #entries = 0;
  #looks = 0;
  #lookUps = 0;
  /** A slot with another number is free. */
  #round = 0;
  #rounds = NO_NUMBERS;
  /** The entry of each slot. */
  #slots = NO_NUMBERS;
  /**
   * For each entry: its hash, where its name begins and ends, and the number of the last one of
   * that name.
   */
  #entryFields = NO_NUMBERS;

  /**
   * `namesMax`: different names, past which `put` throws `too_large`. `hashOf` is another for
   * tests.
   */
  constructor(
    { namesMax = OBJECT_NAMES_MAX, hashOf = nameHash }: { namesMax?: number; hashOf?: HashOf } = {},
  ) {
    this.#namesMax = namesMax;
    this.#hashOf = hashOf;
    this.#allocate(SLOTS_MIN);
  }

  /** Empties the table; the names that are put from now on are in `view`. */
  start(view: DataView): void {
    this.#view = view;
    this.#puts = 0;
    this.#entries = 0;
    this.#looks = 0;
    this.#lookUps = 0;
    if (this.#slots.length > SLOTS_KEPT_MAX || this.#round === 0x7fff_ffff) {
      this.#allocate(SLOTS_MIN);
    }
    this.#round += 1;
  }

  /** How many names were put, repeated ones as well: the number of the next one. */
  get puts(): number {
    return this.#puts;
  }

  /**
   * Puts a name; `hash`, where it is known, is its `nameHash`. Gives the number of the one before
   * it that is the same, or -1.
   */
  put(start: number, end: number, hash = this.#hashOf(this.#view, start, end)): number {
    const number = this.#puts;
    this.#puts = number + 1;
    const slot = this.#slotOf(hash, this.#view, start, end);
    if (this.#rounds[slot] === this.#round) {
      const entry = this.#slots[slot] as number;
      const at = ENTRY_FIELDS * entry + LATEST;
      const before = this.#entryFields[at] as number;
      this.#entryFields[at] = number;
      return before;
    }
    const entry = this.#entries;
    if (entry === this.#namesMax) throw tooManyNames();
    this.#entries = entry + 1;
    this.#rounds[slot] = this.#round;
    this.#slots[slot] = entry;
    const fields = this.#entryFields;
    const at = ENTRY_FIELDS * entry;
    fields[at] = hash;
    fields[at + START] = start;
    fields[at + END] = end;
    fields[at + LATEST] = number;
    if (2 * this.#entries === this.#slots.length) this.#grow();
    return -1;
  }

  /** The number of the last name that equals the bytes of `view` from `start` to `end`, or -1. */
  find(view: DataView, start: number, end: number, hash = this.#hashOf(view, start, end)): number {
    if (this.#entries === 0) return -1;
    const slot = this.#slotOf(hash, view, start, end);
    return this.#rounds[slot] === this.#round
      ? this.#entryFields[ENTRY_FIELDS * (this.#slots[slot] as number) + LATEST] as number
      : -1;
  }

  /**
   * Calls `visit` with the number of the last of each name that `other` has, too; numbers are this
   * table's and the other's.
   */
  eachIn(other: NameTable, visit: (number: number, otherNumber: number) => void): void {
    for (let entry = 0; entry < this.#entries; entry += 1) {
      const at = ENTRY_FIELDS * entry;
      const fields = this.#entryFields;
      const [hash, start, end] = [fields[at], fields[at + START], fields[at + END]];
      const found = other.find(this.#view, start as number, end as number, hash as number);
      if (found >= 0) visit(fields[at + LATEST] as number, found);
    }
  }

  /** The slot of a name, or the free one where it would be. */
  #slotOf(hash: number, view: DataView, start: number, end: number): number {
    const last = this.#slots.length - 1;
    this.#lookUps += 1;
    for (let slot = hash & last;; slot = (slot + 1) & last) {
      this.#looks += 1;
      if (this.#rounds[slot] !== this.#round) return slot;
      const at = ENTRY_FIELDS * (this.#slots[slot] as number);
      if (this.#entryFields[at] === hash && this.#equals(at, view, start, end)) return slot;
      if (this.#looks > LOOKS_MIN + LOOKS_PER_NAME_MAX * this.#lookUps) throw tooAlike();
    }
  }

  /** Whether the name of the entry whose fields are at `fieldsAt` is that one. */
  #equals(fieldsAt: number, view: DataView, start: number, end: number): boolean {
    const at = this.#entryFields[fieldsAt + START] as number;
    const length = end - start;
    return (this.#entryFields[fieldsAt + END] as number) - at === length &&
      areSameBytesAt(this.#view, at, view, start, length);
  }

  /** Twice as many slots, and room for as many entries. */
  #grow(): void {
    const fields = this.#entryFields;
    this.#allocate(2 * this.#slots.length);
    this.#entryFields.set(fields);
    this.#round = 1;
    const last = this.#slots.length - 1;
    for (let entry = 0; entry < this.#entries; entry += 1) {
      let slot = (fields[ENTRY_FIELDS * entry] as number) & last;
      while (this.#rounds[slot] === 1) slot = (slot + 1) & last;
      this.#rounds[slot] = 1;
      this.#slots[slot] = entry;
    }
  }

  #allocate(slots: number): void {
    this.#round = 0;
    // One piece of memory: making a context is mostly asking for such.
    const cells = new Int32Array(2 * slots + ENTRY_FIELDS * (slots >> 1));
    this.#slots = cells.subarray(0, slots);
    this.#rounds = cells.subarray(slots, 2 * slots);
    this.#entryFields = cells.subarray(2 * slots);
  }
}

/**
 * A table of names that lie one after the other, each to its end; their number is bounded already.
 */
export function nameTableOf(bytes: Uint8Array<ArrayBuffer>, ends: readonly number[]): NameTable {
  const table = new NameTable({ namesMax: Infinity });
  table.start(viewOf(bytes));
  let at = 0;
  for (const end of ends) {
    table.put(at, end);
    at = end;
  }
  return table;
}

/** For tables that are asked of the same name. */
export function nameHash(view: DataView, start: number, end: number): number {
  let hash = SEED ^ (end - start);
  let at = start;
  for (; at + 4 <= end; at += 4) hash = mixed(hash ^ view.getInt32(at, true));
  let rest = 0;
  for (; at < end; at += 1) rest = (rest << 8) | view.getUint8(at);
  return mixed(mixed(hash ^ rest));
}

/** Each bit of it depends on all bits of `value`. */
function mixed(value: number): number {
  const product = Math.imul(value ^ (value >>> 16), 0x7feb352d);
  return product ^ (product >>> 15);
}

function tooAlike(): OperatingError {
  return new OperatingError(
    "too_large",
    "cannot tell apart attributes whose names were made to collide: send fewer in a request",
    { reason: "too_many_parts" },
  );
}
