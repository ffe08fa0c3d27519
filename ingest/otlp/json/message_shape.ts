/**
 * What a protobuf message looks like in OTLP/JSON: its members, and the field that each becomes. A
 * member that has no place here is for `parsed_request.ts` to judge.
 *
 * Members of one message mostly come in the same order: which came after which is remembered, as a
 * guess.
 */

import { assert } from "../../../shared/base/assert.ts";
import { utf8 } from "../../../shared/base/bytes.ts";
import { type JsonScanner, UNUSUAL } from "./scanner.ts";

/** How a member's value is written. */
export type JsonKind =
  | "string"
  | "id"
  | "time"
  | "int64"
  | "int32"
  | "uint32"
  | "fixed32"
  | "double"
  | "bool"
  | "message"
  | "messages";

export interface JsonField {
  readonly name: string;
  /** Field number × 8 + wire type. */
  readonly tag: number;
  readonly kind: JsonKind;
  /** The message of kinds "message" and "messages". */
  readonly message?: JsonMessage;
}

const FIELDS_MAX = 31;
/** A name and its quote are compared by words of four bytes. */
const NAME_LENGTH_MIN = 3;

export class JsonMessage {
  /** Whether the message holds one member at most. */
  readonly isUnion: boolean;
  #fields: readonly JsonField[] = [];
  /** The name of each field and the quote that ends it. */
  #names: readonly DataView[] = [];
  /** By place + 1: the place of the field that came next the last time. */
  #next = new Int32Array(1);

  constructor(options: { isUnion?: boolean } = {}) {
    this.isUnion = options.isUnion ?? false;
  }

  /** Sets the fields; apart from the constructor, since messages hold each other. */
  define(fields: readonly JsonField[]): this {
    assert(fields.length <= FIELDS_MAX, "a bit of an integer stands for each field");
    assert(fields.every(({ name }) => name.length >= NAME_LENGTH_MIN), "a name fills a word");
    this.#fields = fields;
    this.#names = fields.map(({ name }) => new DataView(utf8(`${name}"`).buffer));
    this.#next = Int32Array.from({ length: fields.length + 1 }, (_, i) => i);
    return this;
  }

  field(place: number): JsonField {
    return this.#fields[place] as JsonField;
  }

  /**
   * Reads a member's name: its place. `previous` is that of the member before, -1 for the first.
   */
  place(scanner: JsonScanner, previous: number): number {
    const guess = this.#next[previous + 1] as number;
    if (guess < this.#names.length && this.#isAt(scanner, guess)) return guess;
    for (let place = 0; place < this.#names.length; place += 1) {
      if (!this.#isAt(scanner, place)) continue;
      this.#next[previous + 1] = place;
      return place;
    }
    throw UNUSUAL;
  }

  /** Whether the field's name stands after the quote at the cursor, which then moves behind it. */
  #isAt(scanner: JsonScanner, place: number): boolean {
    const name = this.#names[place] as DataView;
    const { view } = scanner;
    const at = scanner.pos + 1;
    // The last word overlaps the one before it.
    const last = name.byteLength - 4;
    if (at + name.byteLength > view.byteLength) return false;
    for (let i = 0; i < last; i += 4) {
      if (view.getInt32(at + i) !== name.getInt32(i)) return false;
    }
    if (view.getInt32(at + last) !== name.getInt32(last)) return false;
    scanner.pos = at + name.byteLength;
    return true;
  }
}
