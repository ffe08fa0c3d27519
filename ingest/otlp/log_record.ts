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

/** `"name":` of each field. */
const HEADS = new Map(FIELD_NAMES.map((name) => [name, utf8(`"${name}":`)]));
const COMMA = 0x2c;
const OPEN = 0x7b;

export class LogRecordFields {
  bytes: Uint8Array = new Uint8Array(0);
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

  reset(bytes: Uint8Array): void {
    this.bytes = bytes;
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
    const { bytes } = this;
    if (this.has("severity_text")) {
      head(out, "severity_text");
      writeJsonString(out, bytes, this.severityTextStart, this.severityTextEnd);
    }
    if (this.severityNumber !== 0) {
      head(out, "severity_number");
      writeInt64(out, this.severityNumber, this.severityNumber >> 31);
    }
    if (this.has("trace_id")) {
      head(out, "trace_id");
      writeHex(out, bytes, this.traceIdStart, this.traceIdEnd);
    }
    if (this.has("span_id")) {
      head(out, "span_id");
      writeHex(out, bytes, this.spanIdStart, this.spanIdEnd);
    }
    if (this.flags !== 0) {
      head(out, "flags");
      writeCount(out, this.flags);
    }
    if (this.has("event_name")) {
      head(out, "event_name");
      writeJsonString(out, bytes, this.eventNameStart, this.eventNameEnd);
    }
    if (this.has("observed_timestamp_ns")) {
      head(out, "observed_timestamp_ns");
      out.byte(0x22);
      writeInt64(out, this.observedLow, this.observedHigh);
      out.byte(0x22);
    }
    if (this.droppedAttributesCount !== 0) {
      head(out, "dropped_attributes_count");
      writeCount(out, this.droppedAttributesCount);
    }
  }
}

function head(out: ByteBuilder, name: FieldName): void {
  if (out.bytes[out.length - 1] !== OPEN) out.byte(COMMA);
  const bytes = HEADS.get(name) as Uint8Array;
  out.copy(bytes, 0, bytes.length);
}
