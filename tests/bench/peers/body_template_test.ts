import assert from "node:assert/strict";
import protobuf from "protobufjs";
import { buildBody, fillBody } from "./body_template.ts";
import { type Form, TIME_MARK_MS, TIME_MARK_SECS } from "./encodings.ts";
import { readLogLines } from "./log_lines.ts";
import { durationOf, idOf, spanIdOf, timeNsOf, traceIdOf } from "./row_numbers.ts";
import { MARKS, type Shape } from "./shape.ts";
import { buildShape, SHAPE_NAMES } from "./shapes.ts";

const LINES = await readLogLines(undefined);
const TOTAL = 4_000;

/** What each form says of one row, as texts. */
interface SeenRow {
  readonly timeMs: number;
  readonly trace: string;
  readonly span: string;
  readonly body: string;
  readonly service: string;
  readonly severity: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

function body(
  shape: Shape,
  form: Form,
  { first, rows }: { readonly first: number; readonly rows: number },
): Uint8Array {
  const template = buildBody(shape, { form, first: first % shape.templateRows, rows });
  const into = new Uint8Array(template.bytes.byteLength);
  return fillBody(template, { form, first, total: TOTAL }, into).slice();
}

for (const name of SHAPE_NAMES) {
  const shape = buildShape(name, LINES);

  Deno.test({
    name: `fillBody ${name}: all forms say the same of a row, which its number decides`,
    fn: () => {
      const first = shape.templateRows + 175;
      const part = { first, rows: 50 };
      const otlp = seenInOtlp(body(shape, "otlp", part));
      const bulk = seenInBulk(body(shape, "bulk", part));
      assert.equal(otlp.length, 50);
      assert.deepEqual(otlp, bulk);
      for (const [i, row] of otlp.entries()) {
        const number = first + i;
        assert.equal(row.timeMs, Number(timeNsOf(number, TOTAL) / 1_000_000n));
        assert.ok(row.body.includes(`req=${idOf(number, TOTAL)}`), row.body);
        assert.equal(row.trace, shape.hasTrace ? traceIdOf(number) : "");
        assert.equal(row.span, shape.hasTrace ? spanIdOf(number) : "");
        const text = JSON.stringify(row);
        if (name !== "lines") assert.ok(text.includes(`"duration_ms":${durationOf(number)}`), text);
      }
    },
  });

  Deno.test({
    name: `fillBody ${name}: inserts have the rows of bulk documents`,
    fn: () => {
      const part = { first: 450, rows: 25 };
      const inserted = seenInInsert(body(shape, "insert", part));
      const bulk = seenInBulk(body(shape, "bulk", part));
      assert.deepEqual(
        inserted,
        bulk.map((row) => ({ ...row, attributes: texts(row.attributes) })),
      );
    },
  });

  Deno.test({
    name: `fillBody ${name}: no mark is left, and requests of any length have the same rows`,
    fn: () => {
      for (const form of ["otlp", "bulk", "insert"] as const) {
        const text = latin1(body(shape, form, { first: 0, rows: 100 }));
        for (const mark of [MARKS.id, MARKS.trace, String(TIME_MARK_MS), TIME_MARK_SECS]) {
          assert.ok(!text.includes(mark), `${form} has ${mark}`);
        }
      }
      const whole = seenInOtlp(body(shape, "otlp", { first: 0, rows: 100 }));
      const halves = [0, 50].flatMap((first) =>
        seenInOtlp(body(shape, "otlp", { first, rows: 50 }))
      );
      assert.deepEqual(whole, halves);
    },
  });
}

Deno.test({
  name: "fillBody a template that was filled before is filled like a new one",
  fn: () => {
    const shape = buildShape("services", LINES);
    const template = buildBody(shape, { form: "bulk", first: 0, rows: 50 });
    const into = new Uint8Array(template.bytes.byteLength);
    fillBody(template, { form: "bulk", first: 200_000, total: TOTAL }, into);
    const again = fillBody(template, { form: "bulk", first: 0, total: TOTAL }, into);
    assert.deepEqual(again, body(shape, "bulk", { first: 0, rows: 50 }));
  },
});

function seenInBulk(bytes: Uint8Array): SeenRow[] {
  return jsonLines(bytes).filter((line) => !("create" in line)).map((row) => ({
    timeMs: Number(row["@timestamp"]),
    trace: String(row["trace_id"] ?? ""),
    span: String(row["span_id"] ?? ""),
    body: String(row["message"]),
    service: String(row["service"]),
    severity: String(row["severity"]),
    attributes: row["attributes"] as Record<string, unknown>,
  }));
}

function seenInInsert(bytes: Uint8Array): SeenRow[] {
  return jsonLines(bytes.subarray(bytes.indexOf(10) + 1)).map((row) => ({
    timeMs: Math.floor(Number(String(row["Timestamp"]).replace(".", "")) / 1e6),
    trace: String(row["TraceId"] ?? ""),
    span: String(row["SpanId"] ?? ""),
    body: String(row["Body"]),
    service: String(row["ServiceName"]),
    severity: String(row["SeverityText"]),
    attributes: texts(row["LogAttributes"] as Record<string, unknown>),
  }));
}

/** Attributes as the exporter for ClickHouse has them; numbers are written in one way. */
function texts(attributes: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => {
      const text = typeof value === "object" ? JSON.stringify(value) : String(value);
      return [name, text.replace(/\d\.\d{4}e\+\d/g, (number) => String(Number(number)))];
    }),
  );
}

function jsonLines(bytes: Uint8Array): Record<string, unknown>[] {
  return new TextDecoder().decode(bytes).trimEnd().split("\n").map((line) => JSON.parse(line));
}

function latin1(bytes: Uint8Array): string {
  return new TextDecoder("latin1").decode(bytes);
}

/** OpenTelemetry's messages, as far as they are sent here. */
const EXPORT = protobuf.parse(`
  syntax = "proto3";
  message Export { repeated ResourceLogs resource_logs = 1; }
  message ResourceLogs { Resource resource = 1; repeated ScopeLogs scope_logs = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeLogs { repeated Record log_records = 2; }
  message Record {
    fixed64 time_unix_nano = 1; int32 severity_number = 2; string severity_text = 3;
    AnyValue body = 5; repeated KeyValue attributes = 6; bytes trace_id = 9; bytes span_id = 10;
  }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message KeyValueList { repeated KeyValue values = 1; }
  message AnyValue { oneof value {
    string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
    KeyValueList kvlist_value = 6;
  } }
`).root.lookupType("Export");

interface Message {
  readonly [name: string]: unknown;
}

function seenInOtlp(bytes: Uint8Array): SeenRow[] {
  const decoded = EXPORT.toObject(EXPORT.decode(bytes), { longs: String }) as Message;
  return list(decoded["resourceLogs"]).flatMap((resourceLogs) => {
    const { attributes } = resourceLogs["resource"] as Message;
    const resource = mapOf(list(attributes));
    return list(resourceLogs["scopeLogs"]).flatMap((scope) =>
      list(scope["logRecords"]).map((record) => ({
        timeMs: Number(BigInt(String(record["timeUnixNano"])) / 1_000_000n),
        trace: hexOf(record["traceId"]),
        span: hexOf(record["spanId"]),
        body: String((record["body"] as Message)["stringValue"]),
        service: String(resource["service.name"]),
        severity: String(record["severityText"]),
        attributes: mapOf(list(record["attributes"])),
      }))
    );
  });
}

function list(value: unknown): readonly Message[] {
  return (value ?? []) as readonly Message[];
}

function hexOf(value: unknown): string {
  return value === undefined ? "" : Uint8Array.from(value as Uint8Array).toHex();
}

function mapOf(pairs: readonly Message[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map(({ key, value }) => [String(key), valueOf(value as Message)]),
  );
}

function valueOf(value: Message): unknown {
  if (value["kvlistValue"] !== undefined) {
    return mapOf(list((value["kvlistValue"] as Message)["values"]));
  }
  if (value["intValue"] !== undefined) return Number(value["intValue"]);
  return value["stringValue"] ?? value["boolValue"] ?? value["doubleValue"];
}
