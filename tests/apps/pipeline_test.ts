/**
 * The whole path on real processes. The official OpenTelemetry exporters send, SQL answers from the
 * WAL, and the compactor commits. SQL gives the same from the table, and so do `icebird` and
 * `hyparquet` alone.
 */

import assert from "node:assert/strict";
import { OTLPLogExporter as HttpExporter } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPLogExporter as ProtoExporter } from "@opentelemetry/exporter-logs-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import { readForeign } from "../equivalence/foreign_reader.ts";
import { Stack } from "./stack.ts";

const RECORDS = 250;
/** 2026-01-02T03:04:05.678Z */
const TIME_MS = 1_767_323_045_678;

const ALL_ROWS = "SELECT * FROM events ORDER BY timestamp_ns, raw, source";

const EXPORTERS = { proto: ProtoExporter, http: HttpExporter } as const;
type Encoding = keyof typeof EXPORTERS;

/** Statements over what was sent, and what they must answer. */
const STATEMENTS: readonly (readonly [string, readonly (readonly unknown[])[]])[] = [
  [
    "SELECT source, count(*) FROM events WHERE host = 'node-7' GROUP BY source ORDER BY source",
    [["shop-http", RECORDS], ["shop-proto", RECORDS]],
  ],
  [
    "SELECT count(*) FROM events WHERE attr_get(attributes, 'order.id') = '7'",
    [[2]],
  ],
  [
    "SELECT attr_get(attributes, 'order.vip') AS vip, count(*) FROM events " +
    "WHERE host = 'node-7' GROUP BY vip ORDER BY vip",
    [["false", RECORDS], ["true", RECORDS]],
  ],
  [
    "SELECT attr_get(attributes, 'deployment.environment'), attr_get(attributes, 'severity_text'), " +
    "attr_get(attributes, 'scope.name'), attr_get(attributes, 'nothing') FROM events " +
    "WHERE host = 'node-7' LIMIT 1",
    [["test", "INFO", "pipeline", null]],
  ],
  [
    "SELECT raw FROM events WHERE source = 'shop-proto' LIMIT 2",
    [[`order ${RECORDS - 1} placed`], [`order ${RECORDS - 2} placed`]],
  ],
];

Deno.test({
  name:
    "Pipeline: rows of both official exporters answer from the WAL, the table, and another reader",
  async fn() {
    await using stack = await Stack.start({ audit: true });
    for (const encoding of ["proto", "http"] as const) await exportLogs(stack, encoding);
    await checkAnswers(stack);
    const rowsInWal = (await stack.sql(ALL_ROWS)).rows;
    assert.equal(rowsInWal.length, 2 * RECORDS);
    assert.equal(await snapshotOf(stack), null, "nothing is committed yet");

    assert.equal(await stack.sendLogs(["the last one"], { commit: "force" }), true);
    assert.notEqual(await snapshotOf(stack), null, "commit=force returned after the commit");
    await checkAnswers(stack);
    const rowsInTable = (await stack.sql(ALL_ROWS)).rows;
    assert.deepEqual(rowsInTable.slice(0, -1), rowsInWal);
    await stack.stop("compactor");
    assert.deepEqual(await rowsElsewhere(stack), rowsInTable);
  },
});

async function exportLogs(stack: Stack, encoding: Encoding): Promise<void> {
  const exporter = new EXPORTERS[encoding]({ url: `${stack.ingestUrl}/v1/logs` });
  const provider = new LoggerProvider({
    resource: resourceFromAttributes({
      "service.name": `shop-${encoding}`,
      "host.name": "node-7",
      "deployment.environment": "test",
    }),
    processors: [new BatchLogRecordProcessor({ exporter, maxExportBatchSize: 100 })],
  });
  const logger = provider.getLogger("pipeline", "1.2.3");
  for (let i = 0; i < RECORDS; i += 1) {
    logger.emit({
      timestamp: TIME_MS + i,
      severityNumber: 9,
      severityText: "INFO",
      body: `order ${i} placed`,
      attributes: { "order.id": i, "order.vip": i % 2 === 0 },
    });
  }
  await provider.forceFlush();
  await provider.shutdown();
}

async function checkAnswers(stack: Stack): Promise<void> {
  for (const [statement, expected] of STATEMENTS) {
    assert.deepEqual((await stack.sql(statement)).rows, expected, statement);
  }
}

async function snapshotOf(stack: Stack): Promise<unknown> {
  const response = await fetch(`${stack.queryUrl}/api/v1/sql/explain`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: "SELECT count(*) FROM events" }),
  });
  return (await response.json()).tables[0].snapshot_id;
}

/** Rows as another reader sees them, in the form and order of the SQL answer. */
async function rowsElsewhere(stack: Stack): Promise<unknown[][]> {
  const { rows } = await readForeign(`${stack.dataDir}/warehouse/catalog.db`, {
    namespace: "svc",
    name: "events",
  });
  const columns = ["host", "source", "sourcetype", "index", "raw", "attributes"];
  return rows
    .map((row) => ({
      ns: row.timestamp_ns as bigint,
      cells: [
        `${(row.timestamp as Date).toISOString().slice(0, -1)}000Z`,
        Number(row.timestamp_ns),
        ...columns.map((name) => row[name]),
      ],
    }))
    .sort((a, b) =>
      Number(a.ns - b.ns) || compare(a.cells[6], b.cells[6]) || compare(a.cells[3], b.cells[3])
    )
    .map((row) => row.cells);
}

function compare(a: unknown, b: unknown): number {
  return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
}
