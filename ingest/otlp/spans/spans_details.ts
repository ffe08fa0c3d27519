/**
 * Events and links of a span as elements of JSON arrays (docs/api/tables.md#traces; the elements
 * are decided here): events
 * `{"time_unix_nano":"…","name":"…","attributes":{…},"dropped_attributes_count":n}`, links
 * `{"trace_id":"…","span_id":"…","trace_state":"…","attributes":{…},"dropped_attributes_count":n,"flags":n}`.
 *
 * `dropped_attributes_count`, `flags` and `trace_state` only when set. A link may point to no span
 * (ids of zeros, or empty): its attributes still say something, so the ids are written as they
 * came.
 */

import type { ByteBuilder } from "../../../shared/columns/byte_builder.ts";
import {
  writeAscii,
  writeCount,
  writeHex,
  writeInt64,
  writeJsonString,
} from "../../../shared/columns/json_writer.ts";
import { refuseLate } from "../row_columns.ts";
import { AttributeFields, SpansAttributes } from "./spans_attributes.ts";
import { refuseIdLength, SPAN_ID_BYTES, TRACE_ID_BYTES } from "./spans_ids.ts";
import { IRREGULAR, type ValueReader } from "../wire/value_reader.ts";
import type { WireReader } from "../wire/wire_reader.ts";

/** Tags: field number × 8 + wire type. */
const EVENT = { time: 0x09, name: 0x12, attributes: 0x1a, dropped: 0x20 } as const;
const LINK = {
  traceId: 0x0a,
  spanId: 0x12,
  traceState: 0x1a,
  attributes: 0x22,
  dropped: 0x28,
  flags: 0x35,
} as const;
const CLOSE = 0x7d;

export class SpansDetails {
  readonly #reader: WireReader;
  /** Names of a span's attributes do not meet those of its events and links. */
  readonly #attributes: SpansAttributes;
  readonly #ofEvent = new AttributeFields(EVENT.attributes);
  readonly #ofLink = new AttributeFields(LINK.attributes);

  constructor(reader: WireReader, values: ValueReader) {
    this.#reader = reader;
    this.#attributes = new SpansAttributes(reader, values);
  }

  /** Starts a request. */
  start(): void {
    this.#attributes.start();
  }

  /** Appends the event from the cursor to `end`. */
  event(out: ByteBuilder, end: number): void {
    const reader = this.#reader;
    const attributes = this.#ofEvent;
    attributes.clear();
    let timeLow = 0;
    let timeHigh = 0;
    let nameStart = -1;
    let nameEnd = -1;
    let dropped = 0;
    while (reader.pos < end) {
      const at = reader.pos;
      const tag = reader.tag(end);
      if (tag === EVENT.attributes) attributes.pass(at, reader, end);
      else if (tag === EVENT.time) {
        reader.fixed64(end);
        timeLow = reader.low;
        timeHigh = reader.high;
      } else if (tag === EVENT.name) {
        if (nameStart >= 0) throw IRREGULAR;
        nameEnd = reader.span(end);
        nameStart = reader.pos;
        reader.pos = nameEnd;
      } else if (tag === EVENT.dropped) {
        reader.varint(end);
        dropped = reader.low >>> 0;
      } else reader.skip(tag, end);
    }
    refuseLate("a span event with timeUnixNano", timeLow, timeHigh);
    writeAscii(out, '{"time_unix_nano":"');
    writeInt64(out, timeLow, timeHigh);
    writeAscii(out, '","name":');
    writeJsonString(out, reader.view, Math.max(nameStart, 0), Math.max(nameEnd, 0));
    this.#end(out, attributes, dropped);
    out.byte(CLOSE);
    reader.pos = end;
  }

  /** Appends the link from the cursor to `end`. */
  link(out: ByteBuilder, end: number): void {
    const reader = this.#reader;
    const attributes = this.#ofLink;
    attributes.clear();
    const traceId = { start: 0, end: 0 };
    const spanId = { start: 0, end: 0 };
    const traceState = { start: -1, end: -1 };
    let dropped = 0;
    let flags = 0;
    while (reader.pos < end) {
      const at = reader.pos;
      const tag = reader.tag(end);
      if (tag === LINK.attributes) attributes.pass(at, reader, end);
      else if (tag === LINK.traceId) this.#enter(traceId, end);
      else if (tag === LINK.spanId) this.#enter(spanId, end);
      else if (tag === LINK.traceState) {
        if (traceState.start >= 0) throw IRREGULAR;
        this.#enter(traceState, end);
      } else if (tag === LINK.dropped) {
        reader.varint(end);
        dropped = reader.low >>> 0;
      } else if (tag === LINK.flags) flags = reader.fixed32(end);
      else reader.skip(tag, end);
    }
    const { view } = reader;
    refuseIdLength("a link's traceId", view, { span: traceId, bytes: TRACE_ID_BYTES });
    refuseIdLength("a link's spanId", view, { span: spanId, bytes: SPAN_ID_BYTES });
    writeAscii(out, '{"trace_id":');
    writeHex(out, view, traceId.start, traceId.end);
    writeAscii(out, ',"span_id":');
    writeHex(out, view, spanId.start, spanId.end);
    if (traceState.end > traceState.start) {
      writeAscii(out, ',"trace_state":');
      writeJsonString(out, view, traceState.start, traceState.end);
    }
    this.#end(out, attributes, dropped);
    if (flags !== 0) {
      writeAscii(out, ',"flags":');
      writeCount(out, flags);
    }
    out.byte(CLOSE);
    reader.pos = end;
  }

  /** Notes the span of a length-delimited field and passes over it. */
  #enter(span: { start: number; end: number }, end: number): void {
    const reader = this.#reader;
    span.end = reader.span(end);
    span.start = reader.pos;
    reader.pos = span.end;
  }

  /** Appends the members `attributes` and `dropped_attributes_count`. */
  #end(out: ByteBuilder, fields: AttributeFields, dropped: number): void {
    const attributes = this.#attributes;
    writeAscii(out, ',"attributes":{');
    if (!attributes.write(out, fields)) attributes.merge(out, fields);
    out.byte(CLOSE);
    if (dropped !== 0) {
      writeAscii(out, ',"dropped_attributes_count":');
      writeCount(out, dropped);
    }
  }
}
