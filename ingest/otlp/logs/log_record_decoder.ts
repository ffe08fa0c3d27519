/**
 * One OTLP `LogRecord` in protobuf → one row of `LogColumns`.
 *
 * The fast path writes the record's attributes as they come and appends the context's prepared
 * members. A record in which names meet is read a second time, its members merged by name.
 */

import { utf8 } from "../../../shared/base/bytes.ts";
import { ByteBuilder } from "../../../shared/columns/byte_builder.ts";
import { AttributeNames } from "../attributes/attribute_names.ts";
import type { LogColumns } from "./log_columns.ts";
import { FIELD, LogRecordFields } from "./log_record.ts";
import {
  type AttributesSpan,
  MergedAttributes,
  nameKeyOf,
} from "../attributes/merged_attributes.ts";
import { refuseLate, writeTime } from "../row_columns.ts";
import { FIELD_NAMES, INDEX, type ScopeContext, SOURCETYPE } from "../scope_context.ts";
import { isZero } from "../spans/spans_ids.ts";
import { IRREGULAR, type ValueReader } from "../wire/value_reader.ts";
import type { WireReader } from "../wire/wire_reader.ts";

/** Tags of `LogRecord`: field number × 8 + wire type. */
const TIME = 0x09;
const SEVERITY_NUMBER = 0x10;
const SEVERITY_TEXT = 0x1a;
const BODY = 0x2a;
const ATTRIBUTES = 0x32;
const DROPPED_ATTRIBUTES_COUNT = 0x38;
const FLAGS = 0x45;
const TRACE_ID = 0x4a;
const SPAN_ID = 0x52;
const OBSERVED_TIME = 0x59;
const EVENT_NAME = 0x62;

const SOURCETYPE_NAME = utf8(SOURCETYPE);
const INDEX_NAME = utf8(INDEX);
const SOURCETYPE_KEY = nameKeyOf(SOURCETYPE);
const INDEX_KEY = nameKeyOf(INDEX);
const FIELD_KEYS = FIELD_NAMES.map(nameKeyOf);
const SOURCETYPE_FALLBACK = utf8("otel:logs");
const INDEX_FALLBACK = utf8("main");
const OPEN = 0x7b;
const CLOSE = 0x7d;
const COMMA = 0x2c;

export interface RecordDecoderParts {
  readonly reader: WireReader;
  readonly values: ValueReader;
  readonly columns: LogColumns;
}

export class RecordDecoder {
  readonly #reader: WireReader;
  readonly #values: ValueReader;
  readonly #columns: LogColumns;
  readonly #fields = new LogRecordFields();
  /** Text of the attributes that fill core columns; empty when the fallback does. */
  readonly #sourcetype = new ByteBuilder(64);
  readonly #index = new ByteBuilder(64);
  readonly #names: AttributeNames;
  readonly #merged: MergedAttributes;
  #context: ScopeContext | undefined;
  /** Whether names met in the record before: the next one is taken to be alike. */
  #hasMet = false;
  readonly #count = (attributes: number) => this.#values.count(attributes);
  #nowLow = 0;
  #nowHigh = 0;
  #timeLow = 0;
  #timeHigh = 0;

  constructor({ reader, values, columns }: RecordDecoderParts) {
    this.#reader = reader;
    this.#values = values;
    this.#columns = columns;
    this.#names = new AttributeNames(reader, values);
    this.#merged = new MergedAttributes(reader, values);
  }

  /** Starts a request; `nowNs` is the time of records that have none. */
  start(nowNs: bigint): void {
    this.#nowLow = Number(BigInt.asIntN(32, nowNs));
    this.#nowHigh = Number(nowNs >> 32n);
    this.#fields.start(this.#reader.view);
    this.#context = undefined;
    this.#hasMet = false;
    this.#names.forget();
  }

  /** The row of the record from the cursor to `end`. */
  decode(end: number, context: ScopeContext): void {
    const start = this.#reader.pos;
    const columns = this.#columns;
    const out = columns.attributes.values;
    const mark = out.length;
    out.byte(OPEN);
    this.#reset();
    if (context !== this.#context) {
      this.#context = context;
      this.#names.reserveNext(context.names);
    }
    const isApart = this.#readFields(end, context);
    if (isApart) {
      const { members } = context;
      if (members.length > 0) {
        if (out.length > mark + 1) out.byte(COMMA);
        out.copy(members.view, 0, members.length);
      }
    } else {
      out.length = mark + 1;
      this.#names.forget();
      this.#mergeAttributes({ start, end, tag: ATTRIBUTES }, context);
    }
    this.#fields.write(out);
    // An attribute may stand where a field is missing that is called as it.
    if (isApart || this.#fields.hasSeverity) this.#fields.tellSeverity(columns.severities);
    else columns.severities.giveUp();
    if (isApart || this.#fields.hasTrace) this.#fields.tellTrace(columns.traces);
    else columns.traces.giveUp();
    if (out.length === mark + 1) {
      out.length = mark;
      columns.attributes.null();
    } else {
      out.byte(CLOSE);
      columns.attributes.endRow();
    }
    columns.host.value(context.host);
    columns.source.value(context.source);
    if (this.#sourcetype.length === 0) columns.sourcetype.value(SOURCETYPE_FALLBACK);
    else columns.sourcetype.copyOf(this.#sourcetype.bytes, this.#sourcetype.length);
    if (this.#index.length === 0) columns.index.value(INDEX_FALLBACK);
    else columns.index.copyOf(this.#index.bytes, this.#index.length);
    columns.raw.endRow();
    this.#writeTime();
  }

  #reset(): void {
    this.#fields.reset();
    this.#sourcetype.clear();
    this.#index.clear();
    this.#timeLow = 0;
    this.#timeHigh = 0;
    this.#names.start();
  }

  /**
   * Reads a record's fields; body and attributes are written. False when names meet: then not all
   * attributes are.
   */
  #readFields(end: number, context: ScopeContext): boolean {
    const reader = this.#reader;
    let apart = !context.meetsFields && !this.#hasMet;
    let bodyFound = false;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === ATTRIBUTES) {
        const spanEnd = reader.span(end);
        if (apart) apart = this.#attribute(spanEnd, context);
        reader.pos = spanEnd;
      } else if (tag === TIME) {
        reader.fixed64(end);
        this.#timeLow = reader.low;
        this.#timeHigh = reader.high;
      } else if (tag === BODY) {
        if (bodyFound) throw IRREGULAR;
        bodyFound = true;
        const spanEnd = reader.span(end);
        this.#values.text(this.#columns.raw.values, reader.pos, spanEnd);
        reader.pos = spanEnd;
      } else this.#readField(tag, end);
    }
    return apart;
  }

  /** Reads one field that becomes a member of `attributes`. */
  #readField(tag: number, end: number): void {
    const reader = this.#reader;
    const fields = this.#fields;
    switch (tag) {
      case SEVERITY_NUMBER:
        reader.varint(end);
        fields.severityNumber = reader.low;
        fields.number(FIELD.severity_number, reader.low !== 0);
        return;
      case SEVERITY_TEXT:
        if (fields.occurs(FIELD.severity_text)) throw IRREGULAR;
        this.#readSpan(FIELD.severity_text, end);
        return;
      case TRACE_ID:
        this.#readId(FIELD.trace_id, end);
        return;
      case SPAN_ID:
        this.#readId(FIELD.span_id, end);
        return;
      case FLAGS:
        fields.flags = reader.fixed32(end);
        fields.number(FIELD.flags, fields.flags !== 0);
        return;
      case EVENT_NAME:
        if (fields.occurs(FIELD.event_name)) throw IRREGULAR;
        this.#readSpan(FIELD.event_name, end);
        return;
      case OBSERVED_TIME:
        reader.fixed64(end);
        fields.observedLow = reader.low;
        fields.observedHigh = reader.high;
        fields.number(FIELD.observed_timestamp_ns, reader.low !== 0 || reader.high !== 0);
        return;
      case DROPPED_ATTRIBUTES_COUNT:
        reader.varint(end);
        fields.droppedAttributesCount = reader.low >>> 0;
        fields.number(FIELD.dropped_attributes_count, reader.low !== 0);
        return;
      default:
        reader.skip(tag, end);
    }
  }

  #readSpan(place: number, end: number): void {
    const reader = this.#reader;
    const spanEnd = reader.span(end);
    this.#fields.span(place, reader.pos, spanEnd);
    reader.pos = spanEnd;
  }

  /** An id of zeros is none, as an empty one: `logs.proto`. SDKs send it outside of any span. */
  #readId(place: number, end: number): void {
    const reader = this.#reader;
    const spanEnd = reader.span(end);
    const isNone = isZero(reader.view, reader.pos, spanEnd);
    this.#fields.span(place, isNone ? spanEnd : reader.pos, spanEnd);
    reader.pos = spanEnd;
  }

  /** Writes the attribute from the cursor to `end`; false when its name meets another. */
  #attribute(end: number, context: ScopeContext): boolean {
    const values = this.#values;
    const names = this.#names;
    const out = this.#columns.attributes.values;
    const start = this.#reader.pos;
    if (names.writeKnown(out, end)) {
      values.json(out, this.#reader.pos, end);
      return true;
    }
    values.keyValue(end);
    const { keyStart, keyEnd, valueStart, valueEnd } = values;
    if (names.meets()) {
      const column = this.#coreColumn(keyStart, keyEnd, context);
      if (column !== undefined) {
        values.text(column, valueStart, valueEnd);
        return column.length > 0;
      }
      values.json(out, valueStart, valueEnd);
      return false;
    }
    names.write(out, start, end);
    values.json(out, valueStart, valueEnd);
    return true;
  }

  /**
   * Where an attribute's text goes when it fills a core column that no other attribute's name
   * concerns.
   */
  #coreColumn(start: number, end: number, context: ScopeContext): ByteBuilder | undefined {
    const { bytes } = this.#reader;
    if (equals(bytes, SOURCETYPE_NAME, { start, end })) {
      return this.#sourcetype.length > 0 || context.hasSourcetype ? undefined : this.#sourcetype;
    }
    if (equals(bytes, INDEX_NAME, { start, end })) {
      return this.#index.length > 0 || context.hasIndex ? undefined : this.#index;
    }
    return undefined;
  }

  /**
   * Writes all attributes of a record in which names meet, and the texts of its two core columns.
   */
  #mergeAttributes(span: AttributesSpan, context: ScopeContext): void {
    const merged = this.#merged;
    this.#values.startMessage();
    merged.read(span);
    this.#hasMet = merged.meet(context.names());
    this.#sourcetype.clear();
    this.#index.clear();
    merged.take(SOURCETYPE_KEY, this.#sourcetype);
    merged.take(INDEX_KEY, this.#index);
    const fields = FIELD_NAMES.filter((_, place) => this.#fields.has(place));
    for (const name of fields) merged.drop(FIELD_KEYS[FIELD[name]] as DataView);
    const met = merged.placesIn(context.resourceNames);
    const others = context.othersOf(met, { fields, count: this.#count });
    merged.write(this.#columns.attributes.values, others);
  }

  #writeTime(): void {
    const { observedLow, observedHigh } = this.#fields;
    refuseLate("a log record with timeUnixNano", this.#timeLow, this.#timeHigh);
    refuseLate("a log record with observedTimeUnixNano", observedLow, observedHigh);
    if (this.#timeLow !== 0 || this.#timeHigh !== 0) {
      writeTime(this.#columns, this.#timeLow, this.#timeHigh);
    } else if (observedLow !== 0 || observedHigh !== 0) {
      writeTime(this.#columns, observedLow, observedHigh);
    } else writeTime(this.#columns, this.#nowLow, this.#nowHigh);
  }
}

function equals(
  bytes: Uint8Array,
  wanted: Uint8Array,
  { start, end }: { start: number; end: number },
): boolean {
  if (end - start !== wanted.length) return false;
  for (let i = 0; i < wanted.length; i += 1) {
    if (bytes[start + i] !== wanted[i]) return false;
  }
  return true;
}
