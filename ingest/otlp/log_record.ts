/**
 * The fields of one log record that become members of `attributes`, as spans of the request.
 *
 * One instance is used for record after record. Not covered: time, body and attributes.
 */

import { utf8 } from "../../shared/base/bytes.ts";
import type { ByteBuilder } from "../../shared/columns/byte_builder.ts";
import {
  writeCount,
  writeHex,
  writeInt64,
  writeJsonString,
} from "../../shared/columns/json_writer.ts";
import { FIELD_NAMES, type FieldName } from "./scope_context.ts";

/** `,"name":` of each field, in the order of `FIELD_NAMES`. */
const HEADS = FIELD_NAMES.map((name) => new DataView(utf8(`,"${name}":`).buffer));
/** Places in `HEADS`. */
const FIELD = {
  severity_text: 0,
  severity_number: 1,
  trace_id: 2,
  span_id: 3,
  flags: 4,
  event_name: 5,
  observed_timestamp_ns: 6,
  dropped_attributes_count: 7,
} as const satisfies Record<FieldName, number>;
const OPEN = 0x7b;

export class LogRecordFields {
  view: DataView = new DataView(new ArrayBuffer(0));
  severityNumber = 0;
  /** Spans; -1 when the field is absent. */
  severityTextStart = -1;
  severityTextEnd = -1;
  traceIdStart = -1;
  traceIdEnd = -1;
  spanIdStart = -1;
  spanIdEnd = -1;
  eventNameStart = -1;
  eventNameEnd = -1;
  flags = 0;
  observedLow = 0;
  observedHigh = 0;
  droppedAttributesCount = 0;

  reset(view: DataView): void {
    this.view = view;
    this.severityNumber = 0;
    this.severityTextStart = this.severityTextEnd = -1;
    this.traceIdStart = this.traceIdEnd = -1;
    this.spanIdStart = this.spanIdEnd = -1;
    this.eventNameStart = this.eventNameEnd = -1;
    this.flags = 0;
    this.observedLow = 0;
    this.observedHigh = 0;
    this.droppedAttributesCount = 0;
  }

  has(name: FieldName): boolean {
    switch (name) {
      case "severity_text":
        return this.severityTextEnd > this.severityTextStart;
      case "severity_number":
        return this.severityNumber !== 0;
      case "trace_id":
        return this.traceIdEnd > this.traceIdStart;
      case "span_id":
        return this.spanIdEnd > this.spanIdStart;
      case "flags":
        return this.flags !== 0;
      case "event_name":
        return this.eventNameEnd > this.eventNameStart;
      case "observed_timestamp_ns":
        return this.observedLow !== 0 || this.observedHigh !== 0;
      case "dropped_attributes_count":
        return this.droppedAttributesCount !== 0;
    }
  }

  /** Appends the fields that are set as members of the object that `out` ends in. */
  write(out: ByteBuilder): void {
    const { view } = this;
    if (this.has("severity_text")) {
      head(out, FIELD.severity_text);
      writeJsonString(out, view, this.severityTextStart, this.severityTextEnd);
    }
    if (this.severityNumber !== 0) {
      head(out, FIELD.severity_number);
      writeInt64(out, this.severityNumber, this.severityNumber >> 31);
    }
    if (this.has("trace_id")) {
      head(out, FIELD.trace_id);
      writeHex(out, view, this.traceIdStart, this.traceIdEnd);
    }
    if (this.has("span_id")) {
      head(out, FIELD.span_id);
      writeHex(out, view, this.spanIdStart, this.spanIdEnd);
    }
    if (this.flags !== 0) {
      head(out, FIELD.flags);
      writeCount(out, this.flags);
    }
    if (this.has("event_name")) {
      head(out, FIELD.event_name);
      writeJsonString(out, view, this.eventNameStart, this.eventNameEnd);
    }
    if (this.has("observed_timestamp_ns")) {
      head(out, FIELD.observed_timestamp_ns);
      out.byte(0x22);
      writeInt64(out, this.observedLow, this.observedHigh);
      out.byte(0x22);
    }
    if (this.droppedAttributesCount !== 0) {
      head(out, FIELD.dropped_attributes_count);
      writeCount(out, this.droppedAttributesCount);
    }
  }
}

function head(out: ByteBuilder, field: number): void {
  const bytes = HEADS[field] as DataView;
  out.copy(bytes, out.view.getUint8(out.length - 1) === OPEN ? 1 : 0, bytes.byteLength);
}
