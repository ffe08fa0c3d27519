/**
 * The attributes of a span, an event or a link as members of a JSON object.
 *
 * The fast path writes them as they come; where a name may occur twice (see `NameFilter`) they are read a second time
 * and merged by name, the last value standing.
 */

import type { ByteBuilder } from "../../shared/columns/byte_builder.ts";
import { writeJsonName } from "../../shared/columns/json_writer.ts";
import { NameFilter, putLast, slotOf } from "./scope_context.ts";
import type { ValueReader } from "./value_reader.ts";
import type { WireReader } from "./wire_reader.ts";

/**
 * Where a message's attributes are: the fields with `tag` from `start` to `end`, other fields may lie between them.
 * Empty when it has none.
 */
export class AttributeFields {
  start = 0;
  end = 0;
  readonly tag: number;

  constructor(tag: number) {
    this.tag = tag;
  }

  clear(): void {
    this.start = 0;
    this.end = 0;
  }

  /** Notes the attribute whose tag is at `at`, and passes over it; `end` is the message's. */
  pass(at: number, reader: WireReader, end: number): void {
    if (this.end === 0) this.start = at;
    this.end = reader.span(end);
    reader.pos = this.end;
  }
}

export class SpansAttributes {
  readonly #reader: WireReader;
  readonly #values: ValueReader;
  readonly #filter = new NameFilter();

  constructor(reader: WireReader, values: ValueReader) {
    this.#reader = reader;
    this.#values = values;
  }

  /** Names in these slots are merged with others by the caller from now on. */
  reserve(slots: readonly number[]): void {
    this.#filter.enter(slots);
  }

  /**
   * Appends the members to the object that `out` has just opened; false when names may meet: then `out` is as
   * before, and the caller merges what `read` gives.
   */
  write(out: ByteBuilder, fields: AttributeFields): boolean {
    const { start, end, tag: wanted } = fields;
    const reader = this.#reader;
    const values = this.#values;
    const filter = this.#filter;
    const mark = out.length;
    filter.nextRecord();
    reader.pos = start;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag !== wanted) {
        reader.skip(tag, end);
        continue;
      }
      const attributeEnd = reader.span(end);
      values.keyValue(attributeEnd);
      const { keyStart, keyEnd, valueStart, valueEnd } = values;
      if (filter.meets(slotOf(reader.bytes, keyStart, keyEnd))) {
        out.length = mark;
        return false;
      }
      writeJsonName(out, reader.view, keyStart, keyEnd);
      values.json(out, valueStart, valueEnd);
      reader.pos = attributeEnd;
    }
    return true;
  }

  /** The JSON text of each attribute, the last of each name. */
  read({ start, end, tag: wanted }: AttributeFields): Map<string, Uint8Array> {
    const reader = this.#reader;
    const members = new Map<string, Uint8Array>();
    reader.pos = start;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === wanted) {
        const { name, json } = this.#values.attribute(reader.span(end));
        putLast(members, name, json);
      } else reader.skip(tag, end);
    }
    return members;
  }
}
