import assert from "node:assert/strict";
import { getLogger, type LogRecord } from "@logtape/logtape";
import { configureLogging, formatRecord, resetLogging } from "./logging.ts";

const BASE: LogRecord = {
  category: ["svc", "ingest"],
  level: "info",
  message: ["hello"],
  rawMessage: "hello",
  properties: {},
  timestamp: Date.UTC(2026, 10, 20, 21, 4, 5, 123),
};

const LINES: readonly { name: string; record: Partial<LogRecord>; line: string }[] = [
  { name: "plain", record: {}, line: "2026-11-20T21:04:05.123Z INF ingest hello" },
  {
    name: "properties",
    record: { level: "warning", properties: { lane: "default/events", rows: 3n, why: "no space" } },
    line: '2026-11-20T21:04:05.123Z WRN ingest hello lane=default/events rows=3 why="no space"',
  },
  {
    name: "named by the message",
    record: {
      level: "error",
      message: ["port ", 80, " in use"],
      rawMessage: "port {port} in use",
      properties: { port: 80, error: new Error("EADDRINUSE") },
    },
    line: "2026-11-20T21:04:05.123Z ERR ingest port 80 in use error=EADDRINUSE",
  },
  {
    name: "line breaks in a value",
    record: { category: ["svc", "ingest", "otlp"], message: ["a", "b\nc", ""], properties: {} },
    line: "2026-11-20T21:04:05.123Z INF ingest.otlp ab\\nc",
  },
];

for (const { name, record, line } of LINES) {
  Deno.test({
    name: `formatRecord() ${name}`,
    fn: () => assert.equal(formatRecord({ ...BASE, ...record }), line),
  });
}

Deno.test({
  name: "configureLogging() keeps records below the level out",
  async fn() {
    const lines: string[] = [];
    await configureLogging({ level: "warning", writeLine: (line) => lines.push(line) });
    try {
      getLogger(["svc", "wal"]).info("quiet");
      getLogger(["svc", "wal"]).warn("loud {what}", { what: "x", more: 1 });
    } finally {
      await resetLogging();
    }
    assert.deepEqual(lines.map((line) => line.slice(25)), ["WRN wal loud x more=1"]);
  },
});
