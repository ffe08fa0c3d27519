/**
 * The official OpenTelemetry exporters over HTTP against a server that has no room for a while.
 * They read the 503 and send again after its `Retry-After`, and each row is there once.
 */

import assert from "node:assert/strict";
import { OTLPLogExporter as LogsAsJson } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPLogExporter as LogsAsProtobuf } from "@opentelemetry/exporter-logs-otlp-proto";
import { OTLPTraceExporter as SpansAsJson } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as SpansAsProtobuf } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  BatchLogRecordProcessor,
  LoggerProvider,
  type LogRecordExporter,
} from "@opentelemetry/sdk-logs";
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";
import { FullServer } from "./full_server.ts";
import { metricReaches } from "./metric_wait.ts";
import { RunningIngest } from "./running_ingest.ts";

const ROWS = 300;
const BATCH_ROWS = 100;
const NAMES = Array.from({ length: ROWS }, (_, i) => `order ${i} placed`);

async function sendLogs(exporter: LogRecordExporter): Promise<void> {
  const provider = new LoggerProvider({
    processors: [new BatchLogRecordProcessor({ exporter, maxExportBatchSize: BATCH_ROWS })],
  });
  const logger = provider.getLogger("otel-js-test");
  for (const body of NAMES) logger.emit({ body });
  await provider.forceFlush();
  await provider.shutdown();
}

async function sendSpans(exporter: SpanExporter): Promise<void> {
  const provider = new TracerProvider({
    spanProcessors: [new BatchSpanProcessor({ exporter, maxExportBatchSize: BATCH_ROWS })],
  });
  const tracer = provider.getTracer("otel-js-test");
  for (const name of NAMES) tracer.startSpan(name).end();
  await provider.forceFlush();
  await provider.shutdown();
}

interface Case {
  readonly name: string;
  readonly endpoint: "logs" | "traces";
  readonly send: (url: string) => Promise<void>;
  /** Column that tells rows apart. */
  readonly column: "raw" | "name";
}

const LOGS = { endpoint: "logs", column: "raw" } as const;
const TRACES = { endpoint: "traces", column: "name" } as const;

const CASES: readonly Case[] = [
  {
    ...LOGS,
    name: "exporter-logs-otlp-proto",
    send: (url) => sendLogs(new LogsAsProtobuf({ url })),
  },
  { ...LOGS, name: "exporter-logs-otlp-http", send: (url) => sendLogs(new LogsAsJson({ url })) },
  {
    ...TRACES,
    name: "exporter-trace-otlp-proto",
    send: (url) => sendSpans(new SpansAsProtobuf({ url })),
  },
  {
    ...TRACES,
    name: "exporter-trace-otlp-http",
    send: (url) => sendSpans(new SpansAsJson({ url })),
  },
];

for (const { name, endpoint, send, column } of CASES) {
  Deno.test({
    name: `${name} sends again what was answered 503, and each row is stored once`,
    fn: async () => {
      await using ingest = await RunningIngest.start();
      using full = await FullServer.of(ingest);
      const sending = send(`${ingest.url}/v1/${endpoint}`);
      const refused = `svc_ingest_requests_total{endpoint="${endpoint}",status="503"}`;
      await metricReaches(ingest, refused, 1);
      assert.deepEqual(await ingest.rows(), []);
      full[Symbol.dispose]();
      await sending;
      const rows = await ingest.rows();
      assert.deepEqual(rows.map(({ columns }) => columns[column]).sort(), NAMES.toSorted());
    },
  });
}
