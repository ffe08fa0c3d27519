/**
 * The official OpenTelemetry log exporters against a started ingest server: their rows arrive,
 * once.
 */

import assert from "node:assert/strict";
import { OTLPLogExporter as HttpExporter } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPLogExporter as ProtoExporter } from "@opentelemetry/exporter-logs-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import { RunningIngest } from "./running_ingest.ts";

const RECORDS = 300;
/** 2026-01-02T03:04:05.678Z */
const TIME_MS = 1_767_323_045_678;

type ExporterOptions = ConstructorParameters<typeof HttpExporter>[0];

const EXPORTERS = {
  "exporter-logs-otlp-proto": (options: ExporterOptions) => new ProtoExporter(options),
  "exporter-logs-otlp-http": (options: ExporterOptions) => new HttpExporter(options),
};

for (const [name, createExporter] of Object.entries(EXPORTERS)) {
  for (const compression of ["none", "gzip"] as const) {
    Deno.test({
      name: `${name} with compression ${compression} stores each record once`,
      fn: async () => {
        await using ingest = await RunningIngest.start();
        const exporter = createExporter({
          url: `${ingest.url}/v1/logs`,
          compression: compression as never,
        });
        const provider = new LoggerProvider({
          resource: resourceFromAttributes({
            "service.name": "checkout",
            "host.name": "node-7",
            "deployment.environment": "test",
          }),
          processors: [new BatchLogRecordProcessor({ exporter, maxExportBatchSize: 100 })],
        });
        const logger = provider.getLogger("otel-js-test", "1.2.3");
        for (let i = 0; i < RECORDS; i++) {
          logger.emit({
            timestamp: TIME_MS + i,
            severityNumber: 9,
            severityText: "INFO",
            body: `order ${i} placed`,
            attributes: { "order.id": i, "order.vip": i % 2 === 0, tags: ["a", "b"] },
          });
        }
        await provider.forceFlush();
        await provider.shutdown();

        const rows = await ingest.rows();
        assert.deepEqual(
          rows.map((row) => row.columns.raw).sort(),
          Array.from({ length: RECORDS }, (_, i) => `order ${i} placed`).sort(),
        );
        for (const row of rows) {
          const i = Number(row.columns.raw?.split(" ")[1]);
          assert.equal(row.timestampNs, BigInt(TIME_MS + i) * 1_000_000n);
          assert.equal(row.columns.host, "node-7");
          assert.equal(row.columns.source, "checkout");
          const attributes = JSON.parse(row.columns.attributes ?? "null");
          assert.equal(attributes["order.id"], i);
          assert.equal(attributes["order.vip"], i % 2 === 0);
          assert.deepEqual(attributes.tags, ["a", "b"]);
          assert.equal(attributes["deployment.environment"], "test");
          assert.equal(attributes["scope.name"], "otel-js-test");
          assert.equal(attributes.severity_text, "INFO");
        }
        assert.equal(await ingest.metric('svc_ingest_events_total{endpoint="logs"}'), RECORDS);
      },
    });
  }
}
