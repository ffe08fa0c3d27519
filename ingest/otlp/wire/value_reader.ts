/**
 * `AnyValue` and `KeyValue` from the wire format straight to JSON text.
 *
 * Values keep their JSON type. 64-bit integers are exact, bytes are base64, NaN and infinities are
 * strings. A value without any member is null. A repeated key of a map keeps its last value, where
 * that one stood.
 */

import { isUtf8 } from "node:buffer";
import { ByteBuilder } from "../../../shared/columns/byte_builder.ts";
import {
  writeAscii,
  writeBase64,
  writeDouble,
  writeInt64,
  writeJsonString,
} from "../../../shared/columns/json_writer.ts";
import { MapNames } from "../attributes/map_names.ts";
import type { NameShapes } from "../attributes/name_shapes.ts";
import { NameTable } from "../attributes/name_table.ts";
import { REQUEST_ATTRIBUTES_MAX, tooMany } from "../request_limits.ts";
import type { WireReader } from "./wire_reader.ts";

/** How deep arrays and maps may nest in one value. */
export const VALUE_DEPTH_MAX = 32;

/**
 * Thrown when a message holds a singular field twice. That is legal (the parts merge) but no
 * encoder writes it: the request is then read again after protobufjs has merged it.
 */
export const IRREGULAR = new Error("a singular protobuf field occurs twice");

/** Bytes of what was discarded that are kept until they are checked together. */
const DISCARDED_BYTES_MAX = 64 * 1024;

const COMMA = 0x2c;
const COLON = 0x3a;

/** Tags of `KeyValue`: field number × 8 + wire type. */
export const KEY = 0x0a;
export const VALUE = 0x12;
/** Tags of `AnyValue`, and of the elements of arrays and maps. */
const STRING = 0x0a;
const BOOL = 0x10;
const INT = 0x18;
const DOUBLE = 0x21;
const ARRAY = 0x2a;
const MAP = 0x32;
const BYTES = 0x3a;
const ELEMENT = 0x0a;

export class ValueReader {
  /** Spans of the key and value that `keyValue` found; `valueStart` is -1 without a value. */
  keyStart = 0;
  keyEnd = 0;
  valueStart = 0;
  valueEnd = 0;
  readonly #reader: WireReader;
  /** Names of a map's members. */
  readonly #names = new NameTable();
  /** Names of the maps of the message before. */
  readonly #maps: MapNames;
  /**
   * What was read and stands nowhere, because its name came again; it must be UTF-8 all the same.
   */
  readonly #discarded = new ByteBuilder();
  /** How many were counted of the request, and how many may be. */
  #attributes = 0;
  #attributesMax = REQUEST_ATTRIBUTES_MAX;

  constructor(reader: WireReader) {
    this.#reader = reader;
    this.#maps = new MapNames(reader);
  }

  /** Starts a request, of which so many attributes may be looked at twice. */
  start(attributesMax = REQUEST_ATTRIBUTES_MAX): void {
    this.#attributes = 0;
    this.#attributesMax = attributesMax;
    this.#discarded.clear();
    this.#maps.startRequest();
  }

  /** Starts a message of the request, whose maps may be as those of the message before. */
  startMessage(): void {
    this.#maps.startMessage();
  }

  /** Ends a request. Throws `invalid_argument` when what was discarded is not UTF-8. */
  finish(): void {
    const { bytes, length } = this.#discarded;
    if (!isUtf8(bytes.subarray(0, length))) throw this.#reader.refusal("a string is not UTF-8");
    this.#discarded.clear();
  }

  /** Counts attributes that are looked at twice. Throws `too_large` past the most that may be. */
  count(attributes = 1): void {
    this.#attributes += attributes;
    if (this.#attributes > this.#attributesMax) {
      throw tooMany("attributes that may meet", this.#attributesMax);
    }
  }

  /**
   * Checks the name and value that `keyValue` found last, which stand nowhere; `depth` maps and
   * arrays are around.
   */
  discard(depth = 0): void {
    const out = this.#discarded;
    const { valueStart, valueEnd } = this;
    writeJsonString(out, this.#reader.view, this.keyStart, this.keyEnd);
    if (valueStart >= 0) {
      this.#value(out, { start: valueStart, end: valueEnd, depth, quoted: true });
    }
    if (out.length > DISCARDED_BYTES_MAX) this.finish();
  }

  /** Reads the `KeyValue` from the cursor to `end`. */
  keyValue(end: number): void {
    const reader = this.#reader;
    let keyStart = -1;
    let keyEnd = -1;
    let valueStart = -1;
    let valueEnd = -1;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === KEY) {
        if (keyStart >= 0) throw IRREGULAR;
        keyEnd = reader.span(end);
        keyStart = reader.pos;
        reader.pos = keyEnd;
      } else if (tag === VALUE) {
        if (valueStart >= 0) throw IRREGULAR;
        valueEnd = reader.span(end);
        valueStart = reader.pos;
        reader.pos = valueEnd;
      } else reader.skip(tag, end);
    }
    this.keyStart = Math.max(keyStart, 0);
    this.keyEnd = Math.max(keyEnd, 0);
    this.valueStart = valueStart;
    this.valueEnd = valueEnd;
  }

  /**
   * Appends the JSON text of the `AnyValue` in this span; `start` -1 stands for no value. `depth`
   * maps and arrays are around.
   */
  json(out: ByteBuilder, start: number, end: number, depth = 0): void {
    if (this.#string(start, end)) writeJsonString(out, this.#reader.view, this.#reader.pos, end);
    else if (this.#integer(start, end)) writeInt64(out, this.#reader.low, this.#reader.high);
    else if (start < 0 || !this.#value(out, { start, end, depth, quoted: true })) {
      writeAscii(out, "null");
    }
  }

  /** Appends a string value's text, any other value's JSON text; false when there is no value. */
  text(out: ByteBuilder, start: number, end: number): boolean {
    if (this.#string(start, end)) {
      out.copy(this.#reader.view, this.#reader.pos, end);
      return true;
    }
    return start >= 0 && this.#value(out, { start, end, depth: 0, quoted: false });
  }

  /** Whether the span holds a string and nothing else: then the cursor stands at its text. */
  #string(start: number, end: number): boolean {
    const reader = this.#reader;
    if (start < 0 || start === end || reader.bytes[start] !== STRING) return false;
    reader.pos = start + 1;
    return reader.span(end) === end;
  }

  /** Whether the span holds a 64-bit integer and nothing else: then the reader has its halves. */
  #integer(start: number, end: number): boolean {
    const reader = this.#reader;
    if (start < 0 || start === end || reader.bytes[start] !== INT) return false;
    reader.pos = start + 1;
    reader.varint(end);
    return reader.pos === end;
  }

  #value(
    out: ByteBuilder,
    { start, end, depth, quoted }: ValueSpan,
  ): boolean {
    const reader = this.#reader;
    reader.pos = start;
    let found = false;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (VALUE_TAGS[tag] !== 1) {
        reader.skip(tag, end);
        continue;
      }
      if (found) throw IRREGULAR;
      found = true;
      if (tag === BOOL) writeAscii(out, reader.bool(end) ? "true" : "false");
      else if (tag === INT) {
        reader.varint(end);
        writeInt64(out, reader.low, reader.high);
      } else if (tag === DOUBLE) writeDouble(out, reader.double(end));
      else this.#delimited(out, tag, { start: 0, end, depth, quoted });
    }
    return found;
  }

  #delimited(out: ByteBuilder, tag: number, { end, depth, quoted }: ValueSpan): void {
    const reader = this.#reader;
    const spanEnd = reader.span(end);
    const start = reader.pos;
    if (tag === STRING) {
      if (quoted) writeJsonString(out, reader.view, start, spanEnd);
      else out.copy(reader.view, start, spanEnd);
    } else if (tag === BYTES) writeBase64(out, reader.view, start, spanEnd);
    else {
      if (depth >= VALUE_DEPTH_MAX) {
        throw reader.refusal(`a value nests deeper than ${VALUE_DEPTH_MAX} arrays and maps`);
      }
      if (tag === ARRAY) this.#array(out, spanEnd, depth + 1);
      else this.#map(out, spanEnd, depth + 1);
    }
    reader.pos = spanEnd;
  }

  #array(out: ByteBuilder, end: number, depth: number): void {
    const reader = this.#reader;
    out.byte(0x5b);
    let first = true;
    for (let elementEnd; (elementEnd = reader.next(ELEMENT, end)) >= 0;) {
      if (!first) out.byte(COMMA);
      first = false;
      this.json(out, reader.pos, elementEnd, depth);
      reader.pos = elementEnd;
    }
    out.byte(0x5d);
  }

  #map(out: ByteBuilder, end: number, depth: number): void {
    const reader = this.#reader;
    const start = reader.pos;
    const known = this.#maps.next();
    if (known !== undefined && this.#isKnown(known, end)) {
      reader.pos = start;
      this.#knownMap(out, known, { end, depth });
      return;
    }
    reader.pos = start;
    const dropped = this.#repeated(end);
    known?.clear();
    reader.pos = start;
    out.byte(0x7b);
    let first = true;
    for (let memberEnd, number = 0; (memberEnd = reader.next(ELEMENT, end)) >= 0; number += 1) {
      const wireAt = reader.pos;
      this.keyValue(memberEnd);
      const { keyStart, keyEnd, valueStart, valueEnd } = this;
      // Where one comes otherwise, it and those behind it are not remembered.
      const isPlain = reader.bytes[wireAt] === KEY && reader.bytes[keyEnd] === VALUE &&
        valueEnd === memberEnd;
      if (known !== undefined && dropped === undefined && isPlain) {
        this.#maps.remember(known, number, { wireAt, keyStart, keyEnd });
      }
      if (dropped?.[number] === 1) this.discard(depth);
      else {
        if (!first) out.byte(COMMA);
        first = false;
        writeJsonString(out, reader.view, keyStart, keyEnd);
        out.byte(COLON);
        this.json(out, valueStart, valueEnd, depth);
      }
      reader.pos = memberEnd;
    }
    out.byte(0x7d);
  }

  /** Whether the map's members are named as `known`, each with one value and nothing else. */
  #isKnown(known: NameShapes, end: number): boolean {
    const reader = this.#reader;
    for (let memberEnd, place = 0; (memberEnd = reader.next(ELEMENT, end)) >= 0; place += 1) {
      const length = known.match(place, reader.view, reader.pos, memberEnd);
      if (length === 0) return false;
      reader.pos += length;
      if (reader.span(memberEnd) !== memberEnd) return false;
      reader.pos = memberEnd;
    }
    return true;
  }

  #knownMap(
    out: ByteBuilder,
    known: NameShapes,
    { end, depth }: { readonly end: number; readonly depth: number },
  ): void {
    const reader = this.#reader;
    out.byte(0x7b);
    for (let memberEnd, place = 0; (memberEnd = reader.next(ELEMENT, end)) >= 0; place += 1) {
      this.#maps.write(out, known, place);
      reader.pos += known.wireLength(place);
      const valueEnd = reader.span(memberEnd);
      this.json(out, reader.pos, valueEnd, depth);
      reader.pos = memberEnd;
    }
    out.byte(0x7d);
  }

  /** 1 for each of the map's members whose name comes again; undefined when there are none. */
  #repeated(end: number): Uint8Array | undefined {
    const reader = this.#reader;
    const names = this.#names;
    const numbers: number[] = [];
    names.start(reader.view);
    for (let memberEnd; (memberEnd = reader.next(ELEMENT, end)) >= 0;) {
      this.keyValue(memberEnd);
      const before = names.put(this.keyStart, this.keyEnd);
      if (before >= 0) numbers.push(before);
      reader.pos = memberEnd;
    }
    if (numbers.length === 0) return undefined;
    const marks = new Uint8Array(names.puts);
    for (const number of numbers) marks[number] = 1;
    return marks;
  }
}

interface ValueSpan {
  readonly start: number;
  readonly end: number;
  /** Arrays and maps around the value. */
  readonly depth: number;
  /** Whether a string is written as JSON. */
  readonly quoted: boolean;
}

/** 1 at the tags of `AnyValue`. */
const VALUE_TAGS = new Uint8Array(BYTES + 1);
for (const tag of [STRING, BOOL, INT, DOUBLE, ARRAY, MAP, BYTES]) VALUE_TAGS[tag] = 1;
