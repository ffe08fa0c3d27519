/**
 * OTLP `ExportLogsServiceRequest` in JSON → columns of the table `events`.
 *
 * The parsed text is written in the protobuf wire format and read by the protobuf decoder, so that both encodings
 * have one mapping; that costs less than a third of what `JSON.parse` takes. Unknown members are ignored, names are
 * lowerCamelCase only, ids are hexadecimal, bytes base64, enums numbers; 64-bit integers are exact as string and as
 * number. A lone surrogate in a string becomes U+FFFD.
 */

import { textOf } from "../../shared/base/bytes.ts";
import { messageOf, OperatingError } from "../../shared/base/errors.ts";
import type { ColumnBatch } from "../../shared/columns/batch.ts";
import {
  base64Of,
  boolOf,
  doubleOf,
  exactReviver,
  hexOf,
  INEXACT,
  int32Of,
  intValueOf,
  type JsonObject,
  objectOf,
  objectsOf,
  refusal,
  stringOf,
  timeOf,
} from "./json_fields.ts";
import { decodeLogsProtobuf, type LogsDecodeOptions } from "./logs_protobuf.ts";
import { VALUE_DEPTH_MAX } from "./value_reader.ts";
import { WireWriter } from "./wire_writer.ts";

/**
 * The rows of a request, in its order. Throws `invalid_argument` for text that is no JSON object of that message,
 * and what `decodeLogsProtobuf` throws.
 */
export function decodeLogsJson(body: Uint8Array, options: LogsDecodeOptions): ColumnBatch {
  const text = requestText(body);
  try {
    try {
      writeRequest(parse(text));
    } catch (error) {
      if (error !== INEXACT) throw error;
      writer.out.clear();
      writeRequest(parse(text, exactReviver));
    }
    return decodeLogsProtobuf(writer.out.bytes.subarray(0, writer.out.length), options);
  } finally {
    writer.out.clear();
  }
}

const writer = new WireWriter();

function requestText(body: Uint8Array): string {
  try {
    return textOf(body);
  } catch (cause) {
    const message = `Cannot decode the OTLP/JSON request of ${body.length} bytes: it is not UTF-8`;
    throw new OperatingError("invalid_argument", message, { cause });
  }
}

function parse(text: string, reviver?: typeof exactReviver): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text, reviver);
  } catch (cause) {
    const message = `Cannot decode the OTLP/JSON request: ${messageOf(cause)}`;
    throw new OperatingError("invalid_argument", message, { cause });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as JsonObject;
  }
  throw refusal("the request", value, "an object with resourceLogs");
}

function writeRequest(request: JsonObject): void {
  for (const resourceLogs of objectsOf(request.resourceLogs, "resourceLogs")) {
    const start = writer.start(0x0a);
    const resource = objectOf(resourceLogs.resource, "resource");
    if (resource !== undefined) {
      const resourceStart = writer.start(0x0a);
      writeKeyValues(0x0a, objectsOf(resource.attributes, "attributes"), 0);
      writer.end(resourceStart);
    }
    for (const scopeLogs of objectsOf(resourceLogs.scopeLogs, "scopeLogs")) {
      writeScopeLogs(scopeLogs);
    }
    writer.end(start);
  }
}

function writeScopeLogs(scopeLogs: JsonObject): void {
  const start = writer.start(0x12);
  const scope = objectOf(scopeLogs.scope, "scope");
  if (scope !== undefined) {
    const scopeStart = writer.start(0x0a);
    writeString(0x0a, stringOf(scope.name, "name"));
    writeString(0x12, stringOf(scope.version, "version"));
    writeKeyValues(0x1a, objectsOf(scope.attributes, "attributes"), 0);
    writer.end(scopeStart);
  }
  for (const record of objectsOf(scopeLogs.logRecords, "logRecords")) writeRecord(record);
  writer.end(start);
}

function writeRecord(record: JsonObject): void {
  const start = writer.start(0x12);
  const time = timeOf(record.timeUnixNano, "timeUnixNano");
  if (time !== undefined) writer.fixed64(0x09, time);
  const observed = timeOf(record.observedTimeUnixNano, "observedTimeUnixNano");
  if (observed !== undefined) writer.fixed64(0x59, observed);
  const severity = int32Of(record.severityNumber, "severityNumber", {
    min: -(2 ** 31),
    max: 2 ** 31 - 1,
  });
  if (severity !== undefined) writer.varint(0x10, severity);
  writeString(0x1a, stringOf(record.severityText, "severityText"));
  const body = objectOf(record.body, "body");
  if (body !== undefined) writeValue(0x2a, body, 0);
  writeKeyValues(0x32, objectsOf(record.attributes, "attributes"), 0);
  const dropped = int32Of(record.droppedAttributesCount, "droppedAttributesCount", {
    min: 0,
    max: 2 ** 32 - 1,
  });
  if (dropped !== undefined) writer.varint(0x38, dropped);
  const flags = int32Of(record.flags, "flags", { min: 0, max: 2 ** 32 - 1 });
  if (flags !== undefined) writer.fixed32(0x45, flags);
  const traceId = hexOf(record.traceId, "traceId");
  if (traceId !== undefined) writer.bytes(0x4a, traceId);
  const spanId = hexOf(record.spanId, "spanId");
  if (spanId !== undefined) writer.bytes(0x52, spanId);
  writeString(0x62, stringOf(record.eventName, "eventName"));
  writer.end(start);
}

function writeString(tag: number, text: string | undefined): void {
  if (text !== undefined) writer.string(tag, text);
}

function writeKeyValues(tag: number, keyValues: readonly JsonObject[], depth: number): void {
  for (const keyValue of keyValues) {
    const start = writer.start(tag);
    writeString(0x0a, stringOf(keyValue.key, "key"));
    const value = objectOf(keyValue.value, "value");
    if (value !== undefined) writeValue(0x12, value, depth);
    writer.end(start);
  }
}

/** An `AnyValue`; `depth` counts the arrays and maps around it. */
function writeValue(tag: number, value: JsonObject, depth: number): void {
  const start = writer.start(tag);
  let written = 0;
  for (const member in value) {
    if (value[member] !== null && writeMember(value, member, depth)) written += 1;
  }
  if (written > 1) throw refusal("a value", value, "one member, such as stringValue");
  writer.end(start);
}

/** Writes one member of an `AnyValue`; false when it has no such member. */
function writeMember(value: JsonObject, member: string, depth: number): boolean {
  const content = value[member];
  switch (member) {
    case "stringValue":
      writer.string(0x0a, stringOf(content, member) ?? "");
      return true;
    case "boolValue":
      writer.varint(0x10, boolOf(content, member) === true ? 1 : 0);
      return true;
    case "intValue":
      writer.int64(0x18, intValueOf(content, member) ?? 0n);
      return true;
    case "doubleValue":
      writer.double(0x21, doubleOf(content, member) ?? 0);
      return true;
    case "bytesValue":
      writer.bytes(0x3a, base64Of(content, member) ?? new Uint8Array(0));
      return true;
    case "arrayValue":
    case "kvlistValue":
      writeContainer(member, objectOf(content, member) ?? {}, depth);
      return true;
    default:
      return false;
  }
}

function writeContainer(
  member: "arrayValue" | "kvlistValue",
  container: JsonObject,
  depth: number,
): void {
  if (depth >= VALUE_DEPTH_MAX) {
    throw refusal("a value", "…", `at most ${VALUE_DEPTH_MAX} nested arrays and maps`);
  }
  const start = writer.start(member === "arrayValue" ? 0x2a : 0x32);
  const elements = objectsOf(container.values, "values");
  if (member === "kvlistValue") writeKeyValues(0x0a, elements, depth + 1);
  else for (const element of elements) writeValue(0x0a, element, depth + 1);
  writer.end(start);
}
