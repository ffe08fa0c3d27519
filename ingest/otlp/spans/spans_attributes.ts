/**
 * The attributes of a span, an event or a link as members of a JSON object.
 *
 * The fast path writes them as they come; where a name occurs twice they are read a second time and
 * merged by name, the last value standing.
 */

import type { ByteBuilder } from "../../../shared/columns/byte_builder.ts";
import { AttributeNames } from "../attributes/attribute_names.ts";
import {
  type AttributesSpan,
  MergedAttributes,
  NO_OTHERS,
  type OtherMembers,
} from "../attributes/merged_attributes.ts";
import type { NameTable } from "../attributes/name_table.ts";
import type { ValueReader } from "../wire/value_reader.ts";
import type { WireReader } from "../wire/wire_reader.ts";

/** Where a message's attributes are. Empty when it has none. */
export class AttributeFields implements AttributesSpan {
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
  readonly #names: AttributeNames;
  readonly #merged: MergedAttributes;
  /** What was written to last. */
  #out: ByteBuilder | undefined;

  constructor(reader: WireReader, values: ValueReader) {
    this.#reader = reader;
    this.#values = values;
    this.#names = new AttributeNames(reader, values);
    this.#merged = new MergedAttributes(reader, values);
  }

  /** Starts a request. */
  start(): void {
    this.#names.forget();
  }

  /** These names are merged with others by the caller from now on. */
  reserve(names: () => NameTable): void {
    this.#names.reserve(names);
  }

  /**
   * Appends the members to the object that `out` has just opened; false when names meet: then `out`
   * is as before, and `merge` appends them.
   */
  write(out: ByteBuilder, fields: AttributeFields): boolean {
    const { start, end, tag: wanted } = fields;
    const reader = this.#reader;
    const values = this.#values;
    const names = this.#names;
    const mark = out.length;
    if (out !== this.#out) {
      this.#out = out;
      names.forget();
    }
    names.start();
    reader.pos = start;
    for (let attributeEnd; (attributeEnd = reader.next(wanted, end)) >= 0;) {
      const attributeStart = reader.pos;
      if (names.writeKnown(out, attributeEnd)) values.json(out, reader.pos, attributeEnd);
      else {
        values.keyValue(attributeEnd);
        if (names.meets()) {
          out.length = mark;
          names.forget();
          return false;
        }
        const { valueStart, valueEnd } = values;
        names.write(out, attributeStart, attributeEnd);
        values.json(out, valueStart, valueEnd);
      }
      reader.pos = attributeEnd;
    }
    return true;
  }

  /**
   * Writes attributes where names meet: the last value of each name. `others` stand behind them, in
   * place of members of those names. Members of `dropped` stand nowhere.
   */
  merge(
    out: ByteBuilder,
    fields: AttributeFields,
    { others, dropped }: { others: OtherMembers; dropped: Iterable<DataView> } = NONE,
  ): void {
    const merged = this.#merged;
    merged.read(fields);
    for (const key of dropped) merged.drop(key);
    merged.write(out, others);
  }
}

const NONE = { others: NO_OTHERS, dropped: [] } as const;
