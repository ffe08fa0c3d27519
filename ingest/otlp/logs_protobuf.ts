/**
 * OTLP `ExportLogsServiceRequest` in protobuf → columns of the table `events`, with no object per record.
 *
 * The mapping is SPEC.md 2.1 and SHAPES.md "OTLP log record → attributes". Decided here beyond them: a
 * host.name, service.name, sourcetype or index that is no string fills its column with its JSON text; one that
 * is empty or has no value fills nothing and stays among the attributes; where names meet, the later member of
 * the order stands. Unknown fields are skipped. Any refusal is for the whole request.
 */

import { isUtf8 } from "node:buffer";
import { assert } from "../../shared/base/assert.ts";
import { textOf, utf8 } from "../../shared/base/bytes.ts";
import { messageOf, OperatingError } from "../../shared/base/errors.ts";
import { TIMESTAMP_NS_MAX } from "../../shared/base/time.ts";
import type { ColumnBatch } from "../../shared/columns/batch.ts";
import { ByteBuilder } from "../../shared/columns/byte_builder.ts";
import { writeJsonString } from "../../shared/columns/json_writer.ts";
import { regularLogsRequest } from "../../proto/otlp_logs.ts";
import { LogColumns } from "./log_columns.ts";
import { LogRecordFields } from "./log_record.ts";
import {
  type Attribute,
  FIELD_NAMES,
  INDEX,
  membersOf,
  putLast,
  ScopeContext,
  SOURCETYPE,
  take,
} from "./scope_context.ts";
import { IRREGULAR, ValueReader } from "./value_reader.ts";
import { WireReader } from "./wire_reader.ts";

export interface LogsDecodeOptions {
  /** The time of a record that has none: Unix nanoseconds. */
  readonly nowNs: bigint;
}

/**
 * The rows of a request, in its order. Throws `invalid_argument` when it is not protobuf of that message, when a
 * string is not UTF-8, a time is past 2262 or a value nests too deep; `too_large` when a column outgrows its limit.
 */
export function decodeLogsProtobuf(body: Uint8Array, options: LogsDecodeOptions): ColumnBatch {
  try {
    return decoder.decode(body, options);
  } catch (error) {
    if (error !== IRREGULAR) throw error;
  }
  return decoder.decode(regular(body), options);
}

function regular(body: Uint8Array): Uint8Array {
  try {
    return regularLogsRequest(body);
  } catch (cause) {
    const message = `Cannot decode the OTLP request of ${body.length} bytes: ${messageOf(cause)}`;
    throw new OperatingError("invalid_argument", message, { cause });
  }
}

/** Tags: field number × 8 + wire type. */
const REQUEST = { resourceLogs: 0x0a } as const;
const RESOURCE_LOGS = { resource: 0x0a, scopeLogs: 0x12 } as const;
const RESOURCE = { attributes: 0x0a } as const;
const SCOPE_LOGS = { scope: 0x0a, logRecords: 0x12 } as const;
const SCOPE = { name: 0x0a, version: 0x12, attributes: 0x1a } as const;
const RECORD = {
  time: 0x09,
  severityNumber: 0x10,
  severityText: 0x1a,
  body: 0x2a,
  attributes: 0x32,
  droppedAttributesCount: 0x38,
  flags: 0x45,
  traceId: 0x4a,
  spanId: 0x52,
  observedTime: 0x59,
  eventName: 0x62,
} as const;

const SOURCETYPE_BYTES = utf8(SOURCETYPE);
const INDEX_BYTES = utf8(INDEX);
const SOURCETYPE_FALLBACK = utf8("otel:logs");
const INDEX_FALLBACK = utf8("main");
const OPEN = 0x7b;
const CLOSE = 0x7d;
const COMMA = 0x2c;
const COLON = 0x3a;

class LogsDecoder {
  readonly #reader = new WireReader();
  readonly #values = new ValueReader(this.#reader);
  readonly #columns = new LogColumns();
  readonly #fields = new LogRecordFields();
  readonly #scratch = new ByteBuilder(1024);
  #nowLow = 0;
  #nowHigh = 0;
  #timeLow = 0;
  #timeHigh = 0;
  #hasSourcetype = false;
  #hasIndex = false;

  decode(body: Uint8Array, { nowNs }: LogsDecodeOptions): ColumnBatch {
    assert(nowNs >= 0n && nowNs <= TIMESTAMP_NS_MAX, "the clock shows a time before 2262");
    this.#nowLow = Number(BigInt.asIntN(32, nowNs));
    this.#nowHigh = Number(nowNs >> 32n);
    this.#reader.open(body);
    try {
      this.#request(body.length);
      return this.#columns.finish();
    } finally {
      this.#columns.clear();
      this.#scratch.clear();
      this.#fields.reset(this.#scratch.bytes);
      this.#reader.close();
    }
  }

  #request(end: number): void {
    const reader = this.#reader;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === REQUEST.resourceLogs) this.#resourceLogs(reader.span(end));
      else reader.skip(tag, end);
    }
  }

  /** Fields may come in any order: the resource is looked for before any record is read. */
  #resourceLogs(end: number): void {
    const reader = this.#reader;
    const start = reader.pos;
    const resourceEnd = this.#enterOnly(RESOURCE_LOGS.resource, end);
    const resource: Attribute[] = [];
    while (reader.pos < resourceEnd) {
      const tag = reader.tag(resourceEnd);
      if (tag === RESOURCE.attributes) resource.push(this.#attribute(reader.span(resourceEnd)));
      else reader.skip(tag, resourceEnd);
    }
    reader.pos = start;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === RESOURCE_LOGS.scopeLogs) this.#scopeLogs(reader.span(end), resource);
      else reader.skip(tag, end);
    }
  }

  #scopeLogs(end: number, resource: readonly Attribute[]): void {
    const reader = this.#reader;
    const start = reader.pos;
    const context = this.#scope(this.#enterOnly(SCOPE_LOGS.scope, end), resource);
    reader.pos = start;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === SCOPE_LOGS.logRecords) this.#record(reader.span(end), context);
      else reader.skip(tag, end);
    }
  }

  /** Moves into the only field with `wanted`: its end. An absent one is empty. */
  #enterOnly(wanted: number, end: number): number {
    const reader = this.#reader;
    let foundStart = -1;
    let foundEnd = -1;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag !== wanted) {
        reader.skip(tag, end);
        continue;
      }
      if (foundStart >= 0) throw IRREGULAR;
      foundEnd = reader.span(end);
      foundStart = reader.pos;
      reader.pos = foundEnd;
    }
    if (foundStart < 0) return end;
    reader.pos = foundStart;
    return foundEnd;
  }

  #scope(end: number, resource: readonly Attribute[]): ScopeContext {
    const reader = this.#reader;
    const scope: Attribute[] = [];
    let scopeName: Attribute | undefined;
    let scopeVersion: Attribute | undefined;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === SCOPE.attributes) scope.push(this.#attribute(reader.span(end)));
      else if (tag === SCOPE.name) {
        if (scopeName !== undefined) throw IRREGULAR;
        scopeName = this.#named("name", reader.span(end));
      } else if (tag === SCOPE.version) {
        if (scopeVersion !== undefined) throw IRREGULAR;
        scopeVersion = this.#named("version", reader.span(end));
      } else reader.skip(tag, end);
    }
    return new ScopeContext({
      resource,
      scopeName: scopeName?.text === null ? undefined : scopeName,
      scopeVersion: scopeVersion?.text === null ? undefined : scopeVersion,
      scope,
    });
  }

  /** The string field from the cursor to `end`, as if it were an attribute. */
  #named(name: string, end: number): Attribute {
    const reader = this.#reader;
    const text = reader.bytes.slice(reader.pos, end);
    if (!isUtf8(text)) throw reader.refusal(`the scope's ${name} is not UTF-8`);
    writeJsonString(this.#scratch, text, 0, text.length);
    reader.pos = end;
    return { name, json: this.#scratch.take(), text: text.length === 0 ? null : text };
  }

  /** The `KeyValue` from the cursor to `end`, apart from its record. */
  #attribute(end: number): Attribute {
    const reader = this.#reader;
    const values = this.#values;
    values.keyValue(end);
    const key = reader.bytes.subarray(values.keyStart, values.keyEnd);
    if (!isUtf8(key)) throw reader.refusal("an attribute's name is not UTF-8");
    const { valueStart, valueEnd } = values;
    values.json(this.#scratch, valueStart, valueEnd);
    const json = this.#scratch.take();
    if (!isUtf8(json)) throw reader.refusal(`attribute ${textOf(key)} is not UTF-8`);
    values.text(this.#scratch, valueStart, valueEnd);
    const text = this.#scratch.take();
    reader.pos = end;
    return { name: textOf(key), json, text: text.length === 0 ? null : text };
  }

  #record(end: number, context: ScopeContext): void {
    const start = this.#reader.pos;
    const columns = this.#columns;
    const out = columns.attributes.values;
    const mark = out.length;
    out.byte(OPEN);
    this.#timeLow = 0;
    this.#timeHigh = 0;
    this.#hasSourcetype = false;
    this.#hasIndex = false;
    this.#fields.reset(this.#reader.bytes);
    context.names.nextRecord();
    if (this.#recordFields(end, context) && !context.meetsFields) {
      if (context.members.length > 0) {
        if (out.length > mark + 1) out.byte(COMMA);
        out.copy(context.members, 0, context.members.length);
      }
    } else {
      out.length = mark + 1;
      columns.sourcetype.restartRow();
      columns.index.restartRow();
      this.#mergeAttributes(start, end, context);
    }
    this.#fields.write(out);
    if (out.length === mark + 1) {
      out.length = mark;
      columns.attributes.null();
    } else {
      out.byte(CLOSE);
      columns.attributes.endRow();
    }
    if (!this.#hasSourcetype) columns.sourcetype.values.append(SOURCETYPE_FALLBACK);
    if (!this.#hasIndex) columns.index.values.append(INDEX_FALLBACK);
    columns.sourcetype.endRow();
    columns.index.endRow();
    columns.raw.endRow();
    columns.host.bytes(context.host);
    columns.source.bytes(context.source);
    this.#recordTime();
  }

  /** Reads a record's fields; attributes and body are written. False when names may have met. */
  #recordFields(end: number, context: ScopeContext): boolean {
    const reader = this.#reader;
    const fields = this.#fields;
    let apart = true;
    let bodyFound = false;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      switch (tag) {
        case RECORD.time:
          reader.fixed64(end);
          this.#timeLow = reader.low;
          this.#timeHigh = reader.high;
          break;
        case RECORD.attributes: {
          const spanEnd = reader.span(end);
          if (!this.#recordAttribute(spanEnd, context)) apart = false;
          reader.pos = spanEnd;
          break;
        }
        case RECORD.body: {
          if (bodyFound) throw IRREGULAR;
          bodyFound = true;
          const spanEnd = reader.span(end);
          this.#values.text(this.#columns.raw.values, reader.pos, spanEnd);
          reader.pos = spanEnd;
          break;
        }
        case RECORD.severityNumber:
          reader.varint(end);
          fields.severityNumber = reader.low;
          break;
        case RECORD.severityText:
          if (fields.severityTextStart >= 0) throw IRREGULAR;
          fields.severityTextEnd = reader.span(end);
          fields.severityTextStart = reader.pos;
          reader.pos = fields.severityTextEnd;
          break;
        case RECORD.eventName:
          if (fields.eventNameStart >= 0) throw IRREGULAR;
          fields.eventNameEnd = reader.span(end);
          fields.eventNameStart = reader.pos;
          reader.pos = fields.eventNameEnd;
          break;
        case RECORD.traceId:
          fields.traceIdEnd = reader.span(end);
          fields.traceIdStart = reader.pos;
          reader.pos = fields.traceIdEnd;
          break;
        case RECORD.spanId:
          fields.spanIdEnd = reader.span(end);
          fields.spanIdStart = reader.pos;
          reader.pos = fields.spanIdEnd;
          break;
        case RECORD.flags:
          fields.flags = reader.fixed32(end);
          break;
        case RECORD.observedTime:
          reader.fixed64(end);
          fields.observedLow = reader.low;
          fields.observedHigh = reader.high;
          break;
        case RECORD.droppedAttributesCount:
          reader.varint(end);
          fields.droppedAttributesCount = reader.low >>> 0;
          break;
        default:
          reader.skip(tag, end);
      }
    }
    return apart;
  }

  /** Writes one attribute of the record; false when its name may meet another. */
  #recordAttribute(end: number, context: ScopeContext): boolean {
    const { bytes } = this.#reader;
    const values = this.#values;
    values.keyValue(end);
    const { keyStart, keyEnd, valueStart, valueEnd } = values;
    if (context.names.meets(bytes, keyStart, keyEnd)) {
      const { sourcetype, index } = this.#columns;
      if (
        !this.#hasSourcetype && equals(bytes, SOURCETYPE_BYTES, { start: keyStart, end: keyEnd })
      ) {
        const mark = sourcetype.values.length;
        values.text(sourcetype.values, valueStart, valueEnd);
        this.#hasSourcetype = sourcetype.values.length > mark;
        return this.#hasSourcetype && !context.resource.has(SOURCETYPE);
      }
      if (!this.#hasIndex && equals(bytes, INDEX_BYTES, { start: keyStart, end: keyEnd })) {
        const mark = index.values.length;
        values.text(index.values, valueStart, valueEnd);
        this.#hasIndex = index.values.length > mark;
        return this.#hasIndex && !context.resource.has(INDEX);
      }
      values.json(this.#columns.attributes.values, valueStart, valueEnd);
      return false;
    }
    const out = this.#columns.attributes.values;
    if (out.bytes[out.length - 1] !== OPEN) out.byte(COMMA);
    writeJsonString(out, bytes, keyStart, keyEnd);
    out.byte(COLON);
    values.json(out, valueStart, valueEnd);
    return true;
  }

  /** Writes all attributes of a record in which names meet, and its two core columns. */
  #mergeAttributes(start: number, end: number, context: ScopeContext): void {
    const columns = this.#columns;
    const attributes = this.#attributesOf(start, end);
    const names = new Set(attributes.keys());
    const sourcetype = take(attributes, SOURCETYPE);
    const index = take(attributes, INDEX);
    this.#hasSourcetype = sourcetype !== undefined;
    this.#hasIndex = index !== undefined;
    if (sourcetype !== undefined) columns.sourcetype.values.append(sourcetype);
    if (index !== undefined) columns.index.values.append(index);
    const members = new Map([...attributes].map(([name, { json }]) => [name, json]));
    for (const [name, json] of context.resource) {
      putLast(members, names.has(name) ? `resource.${name}` : name, json);
    }
    for (const [name, json] of context.scope) putLast(members, name, json);
    for (const name of FIELD_NAMES) {
      if (this.#fields.has(name)) members.delete(name);
    }
    columns.attributes.values.append(membersOf(members));
  }

  /** The record's own attributes, the last of each name. */
  #attributesOf(start: number, end: number): Map<string, Attribute> {
    const reader = this.#reader;
    const attributes = new Map<string, Attribute>();
    reader.pos = start;
    while (reader.pos < end) {
      const tag = reader.tag(end);
      if (tag === RECORD.attributes) {
        const attribute = this.#attribute(reader.span(end));
        putLast(attributes, attribute.name, attribute);
      } else reader.skip(tag, end);
    }
    return attributes;
  }

  #recordTime(): void {
    const { observedLow, observedHigh } = this.#fields;
    refuseLate("timeUnixNano", this.#timeLow, this.#timeHigh);
    refuseLate("observedTimeUnixNano", observedLow, observedHigh);
    if (this.#timeLow !== 0 || this.#timeHigh !== 0) {
      this.#columns.time(this.#timeLow, this.#timeHigh);
    } else if (observedLow !== 0 || observedHigh !== 0) {
      this.#columns.time(observedLow, observedHigh);
    } else this.#columns.time(this.#nowLow, this.#nowHigh);
  }
}

const decoder = new LogsDecoder();

function refuseLate(field: string, low: number, high: number): void {
  if (high >= 0) return;
  const value = BigInt.asUintN(64, (BigInt(high) << 32n) | BigInt(low >>> 0));
  throw new OperatingError(
    "invalid_argument",
    `Cannot store a log record with ${field} ${value}: the last instant is ${TIMESTAMP_NS_MAX} ` +
      "(2262-04-11); send Unix nanoseconds",
  );
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
