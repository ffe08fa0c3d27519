/**
 * The official OpenTelemetry exporters over gRPC against a started ingest server, also while it
 * refuses and after it was away: their rows arrive, once.
 */

import assert from "node:assert/strict";
import { type ServiceError, status } from "@grpc/grpc-js";
import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-grpc";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-grpc";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchLogRecordProcessor,
  LoggerProvider,
  type LogRecordExporter,
} from "@opentelemetry/sdk-logs";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { freePort } from "../../shared/testing/free_ports.ts";
import { RunningIngest } from "./running_ingest.ts";
import { FullServer } from "./full_server.ts";
import { metricReaches } from "./metric_wait.ts";

const RECORDS = 300;
const COMPRESSIONS = ["none", "gzip"] as const;
type Compression = typeof COMPRESSIONS[number];
/** 2026-01-02T03:04:05.678Z */
const TIME_MS = 1_767_323_045_678;

const RESOURCE = resourceFromAttributes({ "service.name": "checkout", "host.name": "node-7" });

function exporterOptions(target: string, compression: Compression) {
  return { url: `http://${target}`, compression: compression as never };
}

/**
 * This exporter gives every refused batch up, whatever the code: around it, what the collector
 * does, which repeats UNAVAILABLE and keeps to `RetryInfo`.
 */
class PatientExporter implements LogRecordExporter {
  readonly #exporter: LogRecordExporter;
  /** Whether each refusal came with `RetryInfo`. */
  readonly hints: boolean[] = [];

  constructor(exporter: LogRecordExporter) {
    this.#exporter = exporter;
  }

  export(...[records, done]: Parameters<LogRecordExporter["export"]>): void {
    this.#exporter.export(records, (result) => {
      const refusal = result.error as ServiceError | undefined;
      if (refusal?.code !== status.UNAVAILABLE) return done(result);
      const details = String(refusal.metadata.get("grpc-status-details-bin")[0] ?? "");
      const hint = details.includes("type.googleapis.com/google.rpc.RetryInfo");
      this.hints.push(hint);
      setTimeout(() => this.export(records, done), hint ? 1_000 : 100);
    });
  }

  forceFlush(): Promise<void> {
    return this.#exporter.forceFlush?.() ?? Promise.resolve();
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }
}

function createLogExporter(target: string, compression: Compression): OTLPLogExporter {
  return new OTLPLogExporter(exporterOptions(target, compression));
}

/** Sends `RECORDS` log records in batches of 100; returns once the exporter is done. */
async function sendLogs(exporter: LogRecordExporter): Promise<void> {
  const provider = new LoggerProvider({
    resource: RESOURCE,
    processors: [new BatchLogRecordProcessor({ exporter, maxExportBatchSize: 100 })],
  });
  const logger = provider.getLogger("otel-js-test", "1.2.3");
  for (let i = 0; i < RECORDS; i++) {
    logger.emit({
      timestamp: TIME_MS + i,
      severityText: "INFO",
      body: `order ${i} placed`,
      attributes: { "order.id": i, tags: ["a", "b"] },
    });
  }
  await provider.forceFlush();
  await provider.shutdown();
}

const EXPECTED = Array.from({ length: RECORDS }, (_, i) => `order ${i} placed`).sort();

for (const compression of COMPRESSIONS) {
  Deno.test({
    name: `exporter-logs-otlp-grpc with compression ${compression} stores each record once`,
    fn: async () => {
      await using ingest = await RunningIngest.start();
      await sendLogs(createLogExporter(ingest.grpcTarget, compression));
      const rows = await ingest.rows();
      assert.deepEqual(rows.map((row) => row.columns.raw).sort(), EXPECTED);
      for (const row of rows) {
        const i = Number(row.columns.raw?.split(" ")[1]);
        assert.equal(row.timestampNs, BigInt(TIME_MS + i) * 1_000_000n);
        assert.equal(row.columns.host, "node-7");
        assert.equal(row.columns.source, "checkout");
        const attributes = JSON.parse(row.columns.attributes ?? "null");
        assert.equal(attributes["order.id"], i);
        assert.deepEqual(attributes.tags, ["a", "b"]);
        assert.equal(attributes["scope.name"], "otel-js-test");
      }
      const events = 'svc_ingest_events_total{endpoint="grpc_logs"}';
      assert.equal(await ingest.metric(events), RECORDS);
    },
  });

  Deno.test({
    name: `exporter-trace-otlp-grpc with compression ${compression} stores each span once`,
    fn: async () => {
      await using ingest = await RunningIngest.start();
      const exporter = new OTLPTraceExporter(exporterOptions(ingest.grpcTarget, compression));
      const provider = new TracerProvider({
        resource: RESOURCE,
        spanProcessors: [new BatchSpanProcessor({ exporter, maxExportBatchSize: 100 })],
      });
      const tracer = provider.getTracer("otel-js-test");
      const ids: string[] = [];
      for (let i = 0; i < RECORDS; i++) {
        const span = tracer.startSpan(`order ${i} placed`, { startTime: TIME_MS + i });
        ids.push(span.spanContext().spanId);
        span.end(TIME_MS + i + 1);
      }
      await provider.forceFlush();
      await provider.shutdown();
      const rows = await ingest.rows();
      assert.deepEqual(rows.map((row) => row.columns.name).sort(), EXPECTED);
      assert.deepEqual(rows.map((row) => row.columns.span_id).sort(), ids.sort());
      for (const row of rows) {
        assert.equal(row.lane, "default/traces");
        assert.equal(row.columns.service, "checkout");
      }
    },
  });
}

Deno.test({
  name: "exporter-logs-otlp-grpc repeated on UNAVAILABLE with RetryInfo stores each record once",
  fn: async () => {
    await using ingest = await RunningIngest.start();
    const full = await FullServer.of(ingest);
    const exporter = new PatientExporter(createLogExporter(ingest.grpcTarget, "gzip"));
    const sending = sendLogs(exporter);
    const refused = 'svc_ingest_grpc_calls_total{endpoint="grpc_logs",code="UNAVAILABLE"}';
    await metricReaches(ingest, refused, 1);
    assert.deepEqual(await ingest.rows(), []);
    full[Symbol.dispose]();
    await sending;
    const rows = await ingest.rows();
    assert.deepEqual(rows.map((row) => row.columns.raw).sort(), EXPECTED);
  },
});

Deno.test({
  name: "exporter-logs-otlp-grpc repeated until a server is there stores each record once",
  fn: async () => {
    const target = `127.0.0.1:${freePort()}`;
    const sending = sendLogs(new PatientExporter(createLogExporter(target, "none")));
    await new Promise((resolve) => setTimeout(resolve, 700));
    await using ingest = await RunningIngest.start(["--otlp-grpc-listen", target]);
    await sending;
    const rows = await ingest.rows();
    assert.deepEqual(rows.map((row) => row.columns.raw).sort(), EXPECTED);
  },
});
