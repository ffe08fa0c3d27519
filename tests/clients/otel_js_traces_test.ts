/**
 * The official OpenTelemetry trace exporters against the whole service on real processes. Every
 * span arrives once with its parent, events, links and status. SQL answers the same from the WAL
 * and from the table, and so does another reader.
 */

import assert from "node:assert/strict";
import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPTraceExporter as HttpExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtoExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { Stack } from "../apps/stack.ts";
import { type ForeignMetadata, readForeign } from "../equivalence/foreign_reader.ts";

/** Traces per exporter, of two spans each. */
const TRACES = 120;
/** 2026-01-02T03:04:05Z */
const TIME_SECS = 1_767_323_045;

const SENDERS = [
  { service: "shop-proto", create: ProtoExporter, compression: "none" },
  { service: "shop-proto-gzip", create: ProtoExporter, compression: "gzip" },
  { service: "shop-http", create: HttpExporter, compression: "none" },
  { service: "shop-http-gzip", create: HttpExporter, compression: "gzip" },
] as const;

const COLUMNS = [
  "service",
  "name",
  "kind",
  "trace_id",
  "span_id",
  "parent_span_id",
  "timestamp_ns",
  "duration_nanos",
  "status_code",
  "status_message",
  "trace_state",
  "scope_name",
  "scope_version",
  "resource_attributes",
  "attr_get(attributes, 'order.id') AS order_id",
  "events",
  "links",
];
const ALL_ROWS = `SELECT ${COLUMNS.join(", ")} FROM traces ORDER BY span_id`;
/** What a span is expected to be as a row, cell by cell. */
type Row = readonly unknown[];

Deno.test({
  name: "exporter-trace-otlp-proto and -http store each span once, the same from WAL and table",
  fn: async () => {
    await using stack = await Stack.start();
    assert.deepEqual((await stack.sql("SELECT count(*) FROM traces")).rows, [[0]]);
    const sent: Row[] = [];
    for (const sender of SENDERS) sent.push(...await exportSpans(stack, sender));
    sent.sort((a, b) => String(a[4]) < String(b[4]) ? -1 : 1);
    assert.deepEqual((await stack.sql(ALL_ROWS)).rows, sent, "from the WAL");
    await checkAnswers(stack);

    assert.equal(await commitOneMore(stack), 200);
    const committed = (await stack.sql(ALL_ROWS)).rows.filter(([service]) => service !== "last");
    assert.deepEqual(committed, sent, "from the table");
    const inTable = await snapshotRows(stack);
    assert.equal(inTable, sent.length + 1, "commit=force returned after the commit");
    await checkAnswers(stack);

    await stack.stop("compactor");
    const { metadata, rows } = await readForeign(`${stack.dataDir}/warehouse/catalog.db`, {
      namespace: "svc",
      name: "traces",
    });
    assert.deepEqual(shapeOf(metadata), SHAPE);
    const ids = rows.map((row) => row.span_id).sort();
    assert.deepEqual(ids, [...sent.map((row) => row[4]), "ffffffffffffffff"].sort());
  },
});

/** docs/api/tables.md#traces, as Iceberg's metadata says it. */
const SHAPE = {
  columns: "timestamp timestamptz!, timestamp_ns long!, trace_id string!, span_id string!, " +
    "parent_span_id string, service string!, name string!, kind string!, status_code string!, " +
    "status_message string, duration_nanos long!, trace_state string, scope_name string, " +
    "scope_version string, attributes string, resource_attributes string, events string, " +
    "links string",
  partition: ["timestamp day"],
  order: ["timestamp asc", "timestamp_ns asc"],
  tags: '["service","name","kind","status_code"]',
};

function shapeOf(metadata: ForeignMetadata): typeof SHAPE {
  const { fields } = metadata.schemas[0] ?? { fields: [] };
  const nameOf = (id: number | undefined) => fields.find((field) => field.id === id)?.name;
  return {
    columns: fields.map(({ name, type, required }) => `${name} ${type}${required ? "!" : ""}`)
      .join(", "),
    partition: metadata["partition-specs"].flatMap((spec) =>
      spec.fields.map((field) => `${nameOf(field["source-id"])} ${field.transform}`)
    ),
    order: metadata["sort-orders"].flatMap((order) =>
      order.fields.map((field) => `${nameOf(field["source-id"])} ${field.direction}`)
    ),
    tags: metadata.properties?.["svc.tags"] ?? "",
  };
}

/** Sends `TRACES` traces; returns what their rows must be. */
async function exportSpans(stack: Stack, sender: typeof SENDERS[number]): Promise<Row[]> {
  const exporter = new sender.create({
    url: `${stack.ingestUrl}/v1/traces`,
    compression: sender.compression as never,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ "service.name": sender.service, "host.name": "node-7" }),
    spanProcessors: [new BatchSpanProcessor({ exporter, maxExportBatchSize: 50 })],
  });
  const tracer = provider.getTracer("otel-js-test", "1.2.3");
  const rows: Row[] = [];
  let before: Span | undefined;
  for (let i = 0; i < TRACES; i += 1) {
    const links = before === undefined
      ? []
      : [{ context: before.spanContext(), attributes: { why: "previous" } }];
    const order = tracer.startSpan("POST /orders", {
      kind: SpanKind.SERVER,
      startTime: [TIME_SECS + i, 1],
      attributes: { "order.id": i },
      links,
    }, ROOT_CONTEXT);
    const query = tracer.startSpan("INSERT orders", {
      kind: SpanKind.CLIENT,
      startTime: [TIME_SECS + i, 1_001],
    }, trace.setSpan(ROOT_CONTEXT, order));
    const failed = i % 3 === 0;
    if (failed) {
      query.addEvent("exception", { "exception.type": "Timeout" }, [TIME_SECS + i, 2_001]);
      query.setStatus({ code: SpanStatusCode.ERROR, message: "no answer" });
    } else order.setStatus({ code: SpanStatusCode.OK });
    query.end([TIME_SECS + i, 3_001]);
    order.end([TIME_SECS + i + 1, 0]);
    rows.push(orderRow({ sender, i, order, before, failed }));
    rows.push(queryRow({ sender, i, order, query, failed }));
    before = order;
  }
  await provider.forceFlush();
  await provider.shutdown();
  return rows;
}

interface Sent {
  readonly sender: typeof SENDERS[number];
  readonly i: number;
  readonly order: Span;
  readonly failed: boolean;
}

const SCOPE = ["otel-js-test", "1.2.3", '{"host.name":"node-7"}'] as const;
/** Timestamps beyond 2^53 are JSON numbers that JavaScript rounds. */
const startOf = (i: number, ns: bigint) => Number(BigInt(TIME_SECS + i) * 1_000_000_000n + ns);

function orderRow({ sender, i, order, before, failed }: Sent & { before: Span | undefined }): Row {
  const { traceId, spanId } = order.spanContext();
  const link = before?.spanContext();
  return [
    sender.service,
    "POST /orders",
    "SPAN_KIND_SERVER",
    traceId,
    spanId,
    null,
    startOf(i, 1n),
    999_999_999,
    failed ? "STATUS_CODE_UNSET" : "STATUS_CODE_OK",
    null,
    null,
    ...SCOPE,
    String(i),
    null,
    link === undefined ? null : `[{"trace_id":"${link.traceId}","span_id":"${link.spanId}",` +
      '"attributes":{"why":"previous"},"flags":257}]',
  ];
}

function queryRow({ sender, i, order, query, failed }: Sent & { query: Span }): Row {
  const time = `${TIME_SECS + i}000002001`;
  return [
    sender.service,
    "INSERT orders",
    "SPAN_KIND_CLIENT",
    order.spanContext().traceId,
    query.spanContext().spanId,
    order.spanContext().spanId,
    startOf(i, 1_001n),
    2_000,
    failed ? "STATUS_CODE_ERROR" : "STATUS_CODE_UNSET",
    failed ? "no answer" : null,
    null,
    ...SCOPE,
    null,
    failed
      ? `[{"time_unix_nano":"${time}","name":"exception",` +
        '"attributes":{"exception.type":"Timeout"}}]'
      : null,
    null,
  ];
}

/** Statements over all senders' spans that hold before and after the commit. */
async function checkAnswers(stack: Stack): Promise<void> {
  const of = "WHERE service LIKE 'shop-%'";
  const statements: readonly (readonly [string, readonly Row[]])[] = [
    [
      `SELECT service, count(*), count(DISTINCT span_id) FROM traces ${of} GROUP BY service ` +
      "ORDER BY service",
      SENDERS.map(({ service }) => [service, 2 * TRACES, 2 * TRACES] as const)
        .sort(([a], [b]) => a < b ? -1 : 1),
    ],
    [
      "SELECT count(*) FROM traces child JOIN traces parent ON child.trace_id = parent.trace_id " +
      "AND child.parent_span_id = parent.span_id WHERE parent.parent_span_id IS NULL",
      [[SENDERS.length * TRACES]],
    ],
    // Without an ORDER BY, newest first.
    [
      "SELECT name FROM traces WHERE service = 'shop-http' LIMIT 3",
      [["INSERT orders"], ["POST /orders"], ["INSERT orders"]],
    ],
    [
      "SELECT max(duration_nanos) FROM traces WHERE status_code = 'STATUS_CODE_ERROR' " +
      "AND timestamp >= TIMESTAMPTZ '2026-01-02 03:04:05Z'",
      [[2_000]],
    ],
  ];
  for (const [statement, expected] of statements) {
    assert.deepEqual((await stack.sql(statement)).rows, expected, statement);
  }
}

/** One span more, acknowledged once all are in the table; the status. */
async function commitOneMore(stack: Stack): Promise<number> {
  const span = {
    traceId: "f".repeat(32),
    spanId: "f".repeat(16),
    name: "last",
    startTimeUnixNano: "1",
  };
  const resource = { attributes: [{ key: "service.name", value: { stringValue: "last" } }] };
  const response = await fetch(`${stack.ingestUrl}/v1/traces?commit=force`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] }),
  });
  await response.body?.cancel();
  return response.status;
}

/** Rows in the table's snapshot, by its own metadata. */
async function snapshotRows(stack: Stack): Promise<number> {
  const { metadata } = await readForeign(`${stack.dataDir}/warehouse/catalog.db`, {
    namespace: "svc",
    name: "traces",
  });
  const snapshot = metadata.snapshots?.find((one) =>
    one["snapshot-id"] === metadata["current-snapshot-id"]
  );
  return Number(snapshot?.summary["total-records"]);
}
