/**
 * The names of one message's attributes while they are written as they come. They are told apart
 * from each other and from names that are reserved for other members of the object.
 *
 * A message whose attributes are named as those of the message before needs neither look-up nor
 * hash: `NameShapes` has them, and no two of them meet. The first that is named otherwise has those
 * before it put into a table.
 */

import type { ByteBuilder } from "../../../shared/columns/byte_builder.ts";
import { writeJsonName } from "../../../shared/columns/json_writer.ts";
import { NameShapes } from "./name_shapes.ts";
import { nameHash, NameTable } from "./name_table.ts";
import { KEY, VALUE, type ValueReader } from "../wire/value_reader.ts";
import type { WireReader } from "../wire/wire_reader.ts";

const OPEN = 0x7b;
const NONE = new NameTable();

export class AttributeNames {
  readonly #reader: WireReader;
  readonly #values: ValueReader;
  readonly #shapes = new NameShapes();
  /** Names of the message, once it is out of step with the one before. */
  readonly #own = new NameTable();
  #reserved = () => NONE;
  /** How many attributes of the message were read. */
  #place = 0;
  /**
   * Whether all of them were named as in the message before: then no two meet, and none was looked
   * up.
   */
  #inStep = true;

  constructor(reader: WireReader, values: ValueReader) {
    this.#reader = reader;
    this.#values = values;
  }

  /**
   * These names are the caller's from now on, asked for when one is looked up; messages before are
   * forgotten.
   */
  reserve(names = () => NONE): void {
    this.#reserved = names;
    this.#shapes.clear();
  }

  /**
   * These names are the caller's from now on, for the next message of the same request and output.
   * What is known of messages before stays, unless one of their names is reserved now.
   */
  reserveNext(names: () => NameTable): void {
    this.#reserved = names;
    const shapes = this.#shapes;
    const { view } = this.#reader;
    for (let place = 0; place < shapes.places; place += 1) {
      if (names().find(view, shapes.keyStart(place), shapes.keyEnd(place)) < 0) continue;
      shapes.clear();
      return;
    }
  }

  /** Forgets messages before, for when what was written for them is gone. */
  forget(): void {
    this.#shapes.clear();
  }

  /** Starts a message. */
  start(): void {
    this.#place = 0;
    this.#inStep = true;
    this.#values.startMessage();
  }

  /**
   * Writes the name of the attribute from the cursor to `end` when it is named as its place was
   * before: the cursor is at its value then. Else the cursor stays, and `meets` and `write` are for
   * it.
   */
  writeKnown(out: ByteBuilder, end: number): boolean {
    const reader = this.#reader;
    const shapes = this.#shapes;
    const place = this.#place;
    const start = reader.pos;
    this.#place = place + 1;
    if (!this.#inStep) return false;
    const length = shapes.match(place, reader.view, start, end);
    if (length > 0) {
      reader.pos = start + length;
      if (reader.span(end) === end) {
        out.copy(out.view, shapes.jsonStart(place), shapes.jsonEnd(place));
        return true;
      }
      reader.pos = start;
    }
    this.#fallOutOfStep(place);
    return false;
  }

  /** Whether the name that `ValueReader` has found is reserved, or that of an attribute before. */
  meets(): boolean {
    return this.#meets(this.#values.keyStart, this.#values.keyEnd);
  }

  /**
   * Writes the name that `ValueReader` has found, which meets no other, of the attribute from
   * `start` to `end`.
   */
  write(out: ByteBuilder, start: number, end: number): void {
    const { bytes, view } = this.#reader;
    const { keyStart, keyEnd, valueEnd } = this.#values;
    const place = this.#place - 1;
    // In step, all places before are written: the first has no comma in front, the others have.
    const isInPlace = isOpened(out) === (place === 0);
    const jsonStart = out.length;
    writeJsonName(out, view, keyStart, keyEnd);
    if (!isInPlace || bytes[start] !== KEY || bytes[keyEnd] !== VALUE || valueEnd !== end) return;
    this.#shapes.remember(place, {
      wireAt: start,
      wireLength: keyEnd + 1 - start,
      jsonStart,
      jsonEnd: out.length,
      keyStart,
    });
  }

  /** Notes the names that were not looked up. What later places are known by is forgotten. */
  #fallOutOfStep(places: number): void {
    this.#inStep = false;
    this.#own.start(this.#reader.view);
    for (let place = 0; place < places; place += 1) {
      this.#own.put(this.#shapes.keyStart(place), this.#shapes.keyEnd(place));
    }
    this.#shapes.keep(places);
  }

  /** Notes a name of the message; true when it is reserved, or was there before. */
  #meets(start: number, end: number): boolean {
    const { view } = this.#reader;
    const hash = nameHash(view, start, end);
    return this.#reserved().find(view, start, end, hash) >= 0 ||
      this.#own.put(start, end, hash) >= 0;
  }
}

function isOpened(out: ByteBuilder): boolean {
  return out.view.getUint8(out.length - 1) === OPEN;
}
