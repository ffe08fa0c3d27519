/** The three forms in which rows are sent: requests of so many rows, with marks in them. */

import protobuf from "protobufjs";
import {
  type AttributeMap,
  type AttributeValue,
  MARKS,
  RESOURCE_ROWS,
  type TemplateRow,
} from "./shape.ts";

export type Form = "otlp" | "bulk" | "insert";

export interface EncodedForm {
  readonly contentType: string;
  encode(rows: readonly TemplateRow[], hasTrace: boolean): Uint8Array;
}

/** `MARKS.timeNs` as bulk documents and inserts have it. */
export const TIME_MARK_MS = 9_111_111_111_119;
export const TIME_MARK_SECS = "9111111111.111111119";

/** Columns of the table that OpenTelemetry's exporter for ClickHouse makes. */
const INSERT =
  "INSERT INTO otel_logs (Timestamp, TraceId, SpanId, SeverityText, SeverityNumber, ServiceName, " +
  "Body, ResourceAttributes, LogAttributes) FORMAT JSONEachRow\n";

export const ENCODINGS: Readonly<Record<Form, EncodedForm>> = {
  otlp: { contentType: "application/x-protobuf", encode: otlpBody },
  bulk: {
    contentType: "application/x-ndjson",
    encode: (rows, hasTrace) =>
      jsonLines(rows.map((row) => `{"create":{}}\n${JSON.stringify(bulkDocument(row, hasTrace))}`)),
  },
  insert: {
    contentType: "text/plain",
    encode: (rows, hasTrace) =>
      jsonLines(rows.map((row) => JSON.stringify(insertedRow(row, hasTrace))), INSERT),
  },
};

function jsonLines(lines: readonly string[], before = ""): Uint8Array {
  return new TextEncoder().encode(`${before}${lines.join("\n")}\n`);
}

function bulkDocument(row: TemplateRow, hasTrace: boolean): unknown {
  return {
    "@timestamp": TIME_MARK_MS,
    ...(hasTrace ? { trace_id: MARKS.trace, span_id: MARKS.span } : {}),
    severity: row.severity.text,
    severity_number: row.severity.number,
    service: row.service,
    host: row.host,
    message: row.body,
    attributes: row.attributes,
  };
}

/** The exporter writes attributes as texts, and nested ones as JSON. */
function insertedRow(row: TemplateRow, hasTrace: boolean): unknown {
  return {
    Timestamp: TIME_MARK_SECS,
    ...(hasTrace ? { TraceId: MARKS.trace, SpanId: MARKS.span } : {}),
    SeverityText: row.severity.text,
    SeverityNumber: row.severity.number,
    ServiceName: row.service,
    Body: row.body,
    ResourceAttributes: { "service.name": row.service, "host.name": row.host },
    LogAttributes: Object.fromEntries(
      Object.entries(row.attributes).map(([name, value]) => [name, attributeText(value)]),
    ),
  };
}

function attributeText(value: AttributeValue): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** One `ExportLogsServiceRequest` with a resource for each `RESOURCE_ROWS` rows. */
function otlpBody(rows: readonly TemplateRow[], hasTrace: boolean): Uint8Array {
  const writer = new protobuf.Writer();
  for (let at = 0; at < rows.length; at += RESOURCE_ROWS) {
    const { service = "", host = "" } = rows[at] ?? {};
    writer.uint32(0x0a).fork(); // resource_logs
    writer.uint32(0x0a).fork(); // resource
    writeAttributes(writer, 0x0a, { "service.name": service, "host.name": host });
    writer.ldelim();
    writer.uint32(0x12).fork(); // scope_logs
    writer.uint32(0x0a).fork().uint32(0x0a).string("bench").ldelim(); // scope.name
    for (const row of rows.slice(at, at + RESOURCE_ROWS)) writeRecord(writer, row, hasTrace);
    writer.ldelim().ldelim();
  }
  return writer.finish();
}

function writeRecord(writer: protobuf.Writer, row: TemplateRow, hasTrace: boolean): void {
  writer.uint32(0x12).fork(); // log_records
  writer.uint32(0x09).fixed64({
    low: Number(BigInt.asUintN(32, MARKS.timeNs)) | 0,
    high: Number(MARKS.timeNs >> 32n) | 0,
    unsigned: true,
  } as unknown as number);
  writer.uint32(0x10).int32(row.severity.number);
  writer.uint32(0x1a).string(row.severity.text);
  writer.uint32(0x2a).fork().uint32(0x0a).string(row.body).ldelim();
  writeAttributes(writer, 0x32, row.attributes);
  if (hasTrace) {
    writer.uint32(0x4a).bytes(Uint8Array.fromHex(MARKS.trace));
    writer.uint32(0x52).bytes(Uint8Array.fromHex(MARKS.span));
  }
  writer.ldelim();
}

function writeAttributes(writer: protobuf.Writer, tag: number, attributes: AttributeMap): void {
  for (const [name, value] of Object.entries(attributes)) {
    writer.uint32(tag).fork().uint32(0x0a).string(name).uint32(0x12).fork();
    writeValue(writer, value);
    writer.ldelim().ldelim();
  }
}

/** Field numbers of `AnyValue`. */
function writeValue(writer: protobuf.Writer, value: AttributeValue): void {
  if (typeof value === "string") writer.uint32(0x0a).string(value);
  else if (typeof value === "boolean") writer.uint32(0x10).bool(value);
  else if (typeof value === "object") {
    writer.uint32(0x32).fork();
    writeAttributes(writer, 0x0a, value);
    writer.ldelim();
  } else if (Number.isInteger(value)) writer.uint32(0x18).int64(value);
  else writer.uint32(0x21).double(value);
}
