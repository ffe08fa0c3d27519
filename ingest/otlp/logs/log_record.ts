/**
 * The fields of one log record that become members of `attributes`: numbers, and spans of the
 * request.
 *
 * One instance is used for record after record: `start` for a request, `reset` for each record. Not
 * covered: time, body and attributes.
 */

import { utf8 } from "../../../shared/base/bytes.ts";
import {
  type ByteBuilder,
  type CopySource,
  copySourceOf,
} from "../../../shared/columns/byte_builder.ts";
import {
  writeCount,
  writeHex,
  writeInt64,
  writeJsonString,
} from "../../../shared/columns/json_writer.ts";
import { areSameBytesAt } from "../../../shared/columns/value_bytes.ts";
import type { TraceIds } from "../../../shared/wal/trace_filter.ts";
import { FIELD_NAMES, type FieldName } from "../scope_context.ts";
import type { Severities } from "./severities.ts";

/** Places of the fields in `FIELD_NAMES`. */
export const FIELD = {
  severity_text: 0,
  severity_number: 1,
  trace_id: 2,
  span_id: 3,
  flags: 4,
  event_name: 5,
  observed_timestamp_ns: 6,
  dropped_attributes_count: 7,
} as const satisfies Record<FieldName, number>;

/** `,"name":` of each field. */
const HEADS = FIELD_NAMES.map((name) => copySourceOf(utf8(`,"${name}":`)));
const SEVERITY = (1 << FIELD.severity_text) | (1 << FIELD.severity_number);
const OPEN = 0x7b;
const COMMA = 0x2c;
const QUOTE = 0x22;

export class LogRecordFields {
  severityNumber = 0;
  flags = 0;
  observedLow = 0;
  observedHigh = 0;
  droppedAttributesCount = 0;
  #view: DataView = new DataView(new ArrayBuffer(0));
  /** Bit i: the field at place i has a span, or a number that is not 0. */
  #seen = 0;
  readonly #starts = new Int32Array(FIELD_NAMES.length);
  readonly #ends = new Int32Array(FIELD_NAMES.length);
  /** The severity written last in full: its text in the request, and its members in the output. */
  #knownNumber = 0;
  #knownStart = 0;
  #knownEnd = 0;
  #knownJsonStart = 0;
  #knownJsonEnd = 0;

  /** Starts a request, whose bytes spans refer to. */
  start(view: DataView): void {
    this.#view = view;
    this.#knownNumber = 0;
    this.reset();
  }

  reset(): void {
    this.#seen = 0;
    this.observedLow = 0;
    this.observedHigh = 0;
  }

  /** Sets a text or an id. */
  span(place: number, start: number, end: number): void {
    this.#starts[place] = start;
    this.#ends[place] = end;
    this.#seen |= 1 << place;
  }

  /** Notes that a numeric field was read; 0 stands for no value. */
  number(place: number, isSet: boolean): void {
    if (isSet) this.#seen |= 1 << place;
    else this.#seen &= ~(1 << place);
  }

  /** Whether the field at `place` has occurred, be it empty. */
  occurs(place: number): boolean {
    return (this.#seen & (1 << place)) !== 0;
  }

  /** Whether `write` writes the field at `place`. */
  has(place: number): boolean {
    if (!this.occurs(place)) return false;
    return !isSpan(place) || (this.#starts[place] as number) < (this.#ends[place] as number);
  }

  /** Whether both `severity_text` and `severity_number` are set. */
  get hasSeverity(): boolean {
    return (this.#seen & SEVERITY) === SEVERITY && this.has(FIELD.severity_text);
  }

  /** Tells the severity of the record; each part of it may be missing. */
  tellSeverity(severities: Severities): void {
    const hasText = this.has(FIELD.severity_text);
    const start = hasText ? this.#starts[FIELD.severity_text] as number : 0;
    const end = hasText ? this.#ends[FIELD.severity_text] as number : 0;
    const number = this.has(FIELD.severity_number) ? this.severityNumber : 0;
    severities.add(this.#view, start, end, number);
  }

  get hasTrace(): boolean {
    return this.has(FIELD.trace_id);
  }

  /** Tells the trace of the record, if it has one. */
  tellTrace(traces: TraceIds): void {
    if (!this.hasTrace) return;
    traces.add(
      this.#view,
      this.#starts[FIELD.trace_id] as number,
      this.#ends[FIELD.trace_id] as number,
    );
  }

  /** Appends the fields that are set as members of the object that `out` ends in. */
  write(out: ByteBuilder): void {
    if (this.#seen === 0) return;
    if (this.hasSeverity) {
      this.#writeSeverity(out);
    } else {
      this.#writeText(out, FIELD.severity_text);
      this.#writeSeverityNumber(out);
    }
    if ((this.#seen & ~SEVERITY) === 0) return;
    this.#writeId(out, FIELD.trace_id);
    this.#writeId(out, FIELD.span_id);
    if (this.has(FIELD.flags)) {
      head(out, FIELD.flags);
      writeCount(out, this.flags);
    }
    this.#writeText(out, FIELD.event_name);
    if (this.has(FIELD.observed_timestamp_ns)) {
      head(out, FIELD.observed_timestamp_ns);
      out.byte(QUOTE);
      writeInt64(out, this.observedLow, this.observedHigh);
      out.byte(QUOTE);
    }
    if (this.has(FIELD.dropped_attributes_count)) {
      head(out, FIELD.dropped_attributes_count);
      writeCount(out, this.droppedAttributesCount);
    }
  }

  #writeText(out: ByteBuilder, place: number): void {
    if (!this.has(place)) return;
    head(out, place);
    const start = this.#starts[place] as number;
    writeJsonString(out, this.#view, start, this.#ends[place] as number);
  }

  #writeId(out: ByteBuilder, place: number): void {
    if (!this.has(place)) return;
    head(out, place);
    writeHex(out, this.#view, this.#starts[place] as number, this.#ends[place] as number);
  }

  #writeSeverityNumber(out: ByteBuilder): void {
    if (!this.has(FIELD.severity_number)) return;
    head(out, FIELD.severity_number);
    writeInt64(out, this.severityNumber, this.severityNumber >> 31);
  }

  /** Both members of a severity; copied when the record before had the same. */
  #writeSeverity(out: ByteBuilder): void {
    const first = out.view.getUint8(out.length - 1) === OPEN;
    if (this.#isKnownSeverity()) {
      if (!first) out.byte(COMMA);
      out.copy(out.view, this.#knownJsonStart, this.#knownJsonEnd);
      return;
    }
    const jsonStart = first ? out.length : out.length + 1;
    this.#writeText(out, FIELD.severity_text);
    this.#writeSeverityNumber(out);
    this.#knownNumber = this.severityNumber;
    this.#knownStart = this.#starts[FIELD.severity_text] as number;
    this.#knownEnd = this.#ends[FIELD.severity_text] as number;
    this.#knownJsonStart = jsonStart;
    this.#knownJsonEnd = out.length;
  }

  #isKnownSeverity(): boolean {
    const start = this.#starts[FIELD.severity_text] as number;
    const length = (this.#ends[FIELD.severity_text] as number) - start;
    if (this.#knownNumber !== this.severityNumber) return false;
    return this.#knownEnd - this.#knownStart === length &&
      areSameBytesAt(this.#view, start, this.#view, this.#knownStart, length);
  }
}

/** Whether the field at `place` is a text or an id. */
function isSpan(place: number): boolean {
  return place === FIELD.severity_text || place === FIELD.trace_id || place === FIELD.span_id ||
    place === FIELD.event_name;
}

function head(out: ByteBuilder, place: number): void {
  const { view, length } = HEADS[place] as CopySource;
  out.copy(view, out.view.getUint8(out.length - 1) === OPEN ? 1 : 0, length);
}
