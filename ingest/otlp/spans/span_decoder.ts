/**
 * One OTLP `Span` in protobuf → one row of `SpansColumns`. `spans_protobuf.ts` describes the
 * mapping.
 *
 * A span's fields are read once, its attributes when all others are known: where a name meets
 * another, they are merged instead of written as they come.
 */

import { utf8 } from "../../../shared/base/bytes.ts";
import type { ByteBuilder } from "../../../shared/columns/byte_builder.ts";
import type { StringColumnBuilder } from "../../../shared/columns/column_builders.ts";
import { writeCount, writeHexDigits } from "../../../shared/columns/json_writer.ts";
import type { RecordReader } from "../request_decoder.ts";
import { refuseLate, writeTime } from "../row_columns.ts";
import { nameKeyOf } from "../attributes/merged_attributes.ts";
import type { ContextMembers } from "../attributes/context_members.ts";
import { AttributeFields, SpansAttributes } from "./spans_attributes.ts";
import type { SpansColumns } from "./spans_columns.ts";
import { SPAN_FIELD_NAMES, SpansContext } from "./spans_context.ts";
import { SpansDetails } from "./spans_details.ts";
import {
  isZero,
  refuseIdLength,
  refuseInvalidId,
  SPAN_ID_BYTES,
  TRACE_ID_BYTES,
} from "./spans_ids.ts";
import { IRREGULAR, type ValueReader } from "../wire/value_reader.ts";
import type { WireReader } from "../wire/wire_reader.ts";

/** Tags of `Span`: field number × 8 + wire type. */
const TRACE_ID = 0x0a;
const SPAN_ID = 0x12;
const TRACE_STATE = 0x1a;
const PARENT_SPAN_ID = 0x22;
const NAME = 0x2a;
const KIND = 0x30;
const START_TIME = 0x39;
const END_TIME = 0x41;
const ATTRIBUTES = 0x4a;
const DROPPED_ATTRIBUTES = 0x50;
const EVENTS = 0x5a;
const DROPPED_EVENTS = 0x60;
const LINKS = 0x6a;
const DROPPED_LINKS = 0x70;
const STATUS = 0x7a;
const FLAGS = 0x85;
/** Tags of `Status`. */
const STATUS_MESSAGE = 0x12;
const STATUS_CODE = 0x18;

const KINDS = names("SPAN_KIND_", [
  "UNSPECIFIED",
  "INTERNAL",
  "SERVER",
  "CLIENT",
  "PRODUCER",
  "CONSUMER",
]);
const STATUS_CODES = names("STATUS_CODE_", ["UNSET", "OK", "ERROR"]);
/** `,"name":` of each field that becomes a member of `attributes`. */
const FIELD_HEADS = SPAN_FIELD_NAMES.map((name) => new DataView(utf8(`,"${name}":`).buffer));
const FIELD_KEYS = SPAN_FIELD_NAMES.map(nameKeyOf);
/** Places of the fields, as in `SPAN_FIELD_NAMES`. */
const FIELD = { flags: 0, droppedAttributes: 1, droppedEvents: 2, droppedLinks: 3 } as const;

const OPEN = 0x7b;
const CLOSE = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const COMMA = 0x2c;

/** A field's bytes in the request; empty when it is absent. */
interface Span {
  start: number;
  end: number;
}

export interface SpansDecoderParts {
  readonly reader: WireReader;
  readonly values: ValueReader;
  readonly columns: SpansColumns;
}

export class SpansDecoder implements RecordReader<SpansContext> {
  readonly #reader: WireReader;
  readonly #columns: SpansColumns;
  readonly #attributes: SpansAttributes;
  readonly #details: SpansDetails;
  /** What `#attributes` has reserved names for. */
  #context: SpansContext | undefined;
  #nowLow = 0;
  #nowHigh = 0;

  readonly #traceId: Span = { start: 0, end: 0 };
  readonly #spanId: Span = { start: 0, end: 0 };
  readonly #parentSpanId: Span = { start: 0, end: 0 };
  /** Strings start at -1 until they are found. */
  readonly #name: Span = { start: 0, end: 0 };
  readonly #traceState: Span = { start: 0, end: 0 };
  readonly #statusMessage: Span = { start: 0, end: 0 };
  #kind = 0;
  #statusFound = false;
  #statusCode = 0;
  #startLow = 0;
  #startHigh = 0;
  #endLow = 0;
  #endHigh = 0;
  readonly #own = new AttributeFields(ATTRIBUTES);
  /**
   * Values of the fields that become members of `attributes`, by their place in `SPAN_FIELD_NAMES`.
   */
  readonly #fields = new Float64Array(SPAN_FIELD_NAMES.length);
  #fieldsFound = false;

  constructor({ reader, values, columns }: SpansDecoderParts) {
    this.#reader = reader;
    this.#columns = columns;
    this.#attributes = new SpansAttributes(reader, values);
    this.#details = new SpansDetails(reader, values);
  }

  start(nowNs: bigint): void {
    this.#nowLow = Number(BigInt.asIntN(32, nowNs));
    this.#nowHigh = Number(nowNs >> 32n);
    this.#context = undefined;
    this.#details.start();
  }

  context(members: ContextMembers): SpansContext {
    return new SpansContext(members);
  }

  decode(end: number, context: SpansContext): void {
    const reader = this.#reader;
    const columns = this.#columns;
    if (context !== this.#context) {
      this.#context = context;
      this.#attributes.reserve(context.names);
    }
    this.#reset();
    while (reader.pos < end) {
      const at = reader.pos;
      const tag = reader.tag(end);
      if (tag === ATTRIBUTES) this.#own.pass(at, reader, end);
      else this.#readField(tag, end);
    }
    endList(columns.events);
    endList(columns.links);
    this.#writeAttributes(context);
    reader.pos = end;
    this.#writeIds();
    this.#writeTimes();
    this.#writeTexts();
    columns.service.value(context.service);
    columns.kind.value(nameOf(KINDS, this.#kind));
    columns.statusCode.value(nameOf(STATUS_CODES, this.#statusCode));
    columns.scopeName.valueOrNull(context.scopeName);
    columns.scopeVersion.valueOrNull(context.scopeVersion);
    columns.resourceAttributes.valueOrNull(context.resource);
  }

  #reset(): void {
    this.#traceId.start = this.#traceId.end = 0;
    this.#spanId.start = this.#spanId.end = 0;
    this.#parentSpanId.start = this.#parentSpanId.end = 0;
    this.#name.start = this.#name.end = -1;
    this.#traceState.start = this.#traceState.end = -1;
    this.#statusMessage.start = this.#statusMessage.end = -1;
    this.#kind = 0;
    this.#statusFound = false;
    this.#statusCode = 0;
    this.#startLow = this.#startHigh = 0;
    this.#endLow = this.#endHigh = 0;
    this.#own.clear();
    if (this.#fieldsFound) this.#fields.fill(0);
    this.#fieldsFound = false;
  }

  /** Reads one field; events and links are written. */
  #readField(tag: number, end: number): void {
    const reader = this.#reader;
    switch (tag) {
      case TRACE_ID:
        return this.#enter(this.#traceId, end);
      case SPAN_ID:
        return this.#enter(this.#spanId, end);
      case PARENT_SPAN_ID:
        return this.#enter(this.#parentSpanId, end);
      case NAME:
        return this.#enterString(this.#name, end);
      case TRACE_STATE:
        return this.#enterString(this.#traceState, end);
      case START_TIME:
        reader.fixed64(end);
        this.#startLow = reader.low;
        this.#startHigh = reader.high;
        return;
      case END_TIME:
        reader.fixed64(end);
        this.#endLow = reader.low;
        this.#endHigh = reader.high;
        return;
      case KIND:
        reader.varint(end);
        this.#kind = reader.low;
        return;
      case STATUS:
        return this.#readStatus(reader.span(end));
      case EVENTS:
        nextElement(this.#columns.events);
        return this.#details.event(this.#columns.events.values, reader.span(end));
      case LINKS:
        nextElement(this.#columns.links);
        return this.#details.link(this.#columns.links.values, reader.span(end));
      default:
        return this.#readCount(tag, end);
    }
  }

  /** Reads a field that becomes a member of `attributes`. */
  #readCount(tag: number, end: number): void {
    const reader = this.#reader;
    if (tag === FLAGS) this.#setField(FIELD.flags, reader.fixed32(end));
    else if (tag === DROPPED_ATTRIBUTES || tag === DROPPED_EVENTS || tag === DROPPED_LINKS) {
      reader.varint(end);
      const field = tag === DROPPED_ATTRIBUTES
        ? FIELD.droppedAttributes
        : tag === DROPPED_EVENTS
        ? FIELD.droppedEvents
        : FIELD.droppedLinks;
      this.#setField(field, reader.low >>> 0);
    } else reader.skip(tag, end);
  }

  #setField(place: number, value: number): void {
    this.#fields[place] = value;
    this.#fieldsFound = true;
  }

  #readStatus(end: number): void {
    if (this.#statusFound) throw IRREGULAR;
    this.#statusFound = true;
    const reader = this.#reader;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === STATUS_MESSAGE) this.#enterString(this.#statusMessage, end);
      else if (tag === STATUS_CODE) {
        reader.varint(end);
        this.#statusCode = reader.low;
      } else reader.skip(tag, end);
    }
  }

  /** Notes where a field is and passes over it. */
  #enter(span: Span, end: number): void {
    const reader = this.#reader;
    span.end = reader.span(end);
    span.start = reader.pos;
    reader.pos = span.end;
  }

  #enterString(span: Span, end: number): void {
    if (span.start >= 0) throw IRREGULAR;
    this.#enter(span, end);
  }

  #writeAttributes(context: SpansContext): void {
    const column = this.#columns.attributes;
    const out = column.values;
    const mark = out.length;
    out.byte(OPEN);
    if (this.#attributes.write(out, this.#own)) {
      const { members } = context;
      if (members.length > 0) {
        if (out.length > mark + 1) out.byte(COMMA);
        out.copy(members.view, 0, members.length);
      }
    } else this.#mergeAttributes(out, context);
    if (this.#fieldsFound) this.#writeFields(out, mark + 1);
    if (out.length === mark + 1) {
      out.length = mark;
      column.null();
    } else {
      out.byte(CLOSE);
      column.endRow();
    }
  }

  /**
   * Appends the fields that are set as members of the object whose first would begin at `first`.
   */
  #writeFields(out: ByteBuilder, first: number): void {
    for (let place = 0; place < FIELD_HEADS.length; place += 1) {
      const value = this.#fields[place] as number;
      if (value === 0) continue;
      const head = FIELD_HEADS[place] as DataView;
      out.copy(head, out.length === first ? 1 : 0, head.byteLength);
      writeCount(out, value);
    }
  }

  /** Appends the members of the span and its scope by name; the later one of the order stands. */
  #mergeAttributes(out: ByteBuilder, context: SpansContext): void {
    const dropped = FIELD_KEYS.filter((_, place) => this.#fields[place] !== 0);
    this.#attributes.merge(out, this.#own, { others: context.others, dropped });
  }

  #writeIds(): void {
    const { view } = this.#reader;
    const columns = this.#columns;
    const { start, end } = this.#parentSpanId;
    refuseInvalidId("a span with traceId", view, { span: this.#traceId, bytes: TRACE_ID_BYTES });
    refuseInvalidId("a span with spanId", view, { span: this.#spanId, bytes: SPAN_ID_BYTES });
    refuseIdLength("a span with parentSpanId", view, {
      span: this.#parentSpanId,
      bytes: SPAN_ID_BYTES,
    });
    writeHexDigits(columns.traceId.values, view, this.#traceId.start, this.#traceId.end);
    columns.traces.add(view, this.#traceId.start, this.#traceId.end);
    columns.traceId.endRow();
    writeHexDigits(columns.spanId.values, view, this.#spanId.start, this.#spanId.end);
    columns.spanId.endRow();
    if (isZero(view, start, end)) columns.parentSpanId.null();
    else {
      writeHexDigits(columns.parentSpanId.values, view, start, end);
      columns.parentSpanId.endRow();
    }
  }

  #writeTimes(): void {
    const columns = this.#columns;
    const [startLow, startHigh] = [this.#startLow, this.#startHigh];
    const [endLow, endHigh] = [this.#endLow, this.#endHigh];
    refuseLate("a span with startTimeUnixNano", startLow, startHigh);
    refuseLate("a span with endTimeUnixNano", endLow, endHigh);
    if (startLow === 0 && startHigh === 0) {
      if (endLow !== 0 || endHigh !== 0) writeTime(columns, endLow, endHigh);
      else writeTime(columns, this.#nowLow, this.#nowHigh);
      columns.durationNanos.halves(0, 0);
      return;
    }
    writeTime(columns, startLow, startHigh);
    const borrow = endLow >>> 0 < startLow >>> 0 ? 1 : 0;
    const high = endHigh - startHigh - borrow;
    if (high < 0) columns.durationNanos.halves(0, 0);
    else columns.durationNanos.halves(endLow - startLow, high);
  }

  #writeTexts(): void {
    const { view } = this.#reader;
    const { name, statusMessage, traceState } = this.#columns;
    name.values.copy(view, Math.max(this.#name.start, 0), Math.max(this.#name.end, 0));
    name.endRow();
    writeOrNull(statusMessage, view, this.#statusMessage);
    writeOrNull(traceState, view, this.#traceState);
  }
}

/** Appends what stands before the next element of the row's JSON array. */
function nextElement(column: StringColumnBuilder): void {
  column.values.byte(column.rowLength === 0 ? OPEN_LIST : COMMA);
}

/** Ends a row that is a JSON array, or null without elements. */
function endList(column: StringColumnBuilder): void {
  if (column.rowLength === 0) {
    column.null();
    return;
  }
  column.values.byte(CLOSE_LIST);
  column.endRow();
}

function writeOrNull(column: StringColumnBuilder, source: DataView, { start, end }: Span): void {
  if (start === end) {
    column.null();
    return;
  }
  column.values.copy(source, start, end);
  column.endRow();
}

function names(prefix: string, of: readonly string[]): readonly Uint8Array[] {
  return of.map((name) => utf8(prefix + name));
}

/** The name of an enum's number; a number without a name is its own text. */
function nameOf(table: readonly Uint8Array[], value: number): Uint8Array {
  return table[value] ?? utf8(String(value));
}
