/**
 * How fast requests become columns: our protobuf and JSON decoders beside protobufjs and `JSON.parse` alone, on
 * the same records (about 321 bytes each, 6 attributes, 500 a request), and spans of about as many.
 */

import {
  encodeLogsRequest,
  ExportLogsServiceRequest,
  type LogRecord,
  type LogsRequest,
} from "../../proto/otlp_logs.ts";
import { decodeLogsJson } from "../../ingest/otlp/logs_json.ts";
import { decodeLogsProtobuf } from "../../ingest/otlp/logs_protobuf.ts";
import { decodeSpansProtobuf } from "../../ingest/otlp/spans_protobuf.ts";
import { ExportTraceServiceRequest } from "../../proto/otlp_traces.ts";
import { hexOf, textOf, utf8 } from "../../shared/base/bytes.ts";
import { otlpTracesBody } from "./otlp_bodies.ts";

export interface DecodeRates {
  readonly columnarRowsPerSec: number;
  readonly protobufjsRowsPerSec: number;
  readonly jsonRowsPerSec: number;
  readonly jsonParseRowsPerSec: number;
  readonly bytesPerRecord: number;
  readonly spansRowsPerSec: number;
  /** protobufjs on the same spans. */
  readonly spansProtobufjsRowsPerSec: number;
  readonly bytesPerSpan: number;
}

/** Decodes requests of `records` records for `seconds` each way. */
export function benchDecode(
  { records = 500, seconds = 1 }: { records?: number; seconds?: number } = {},
): DecodeRates {
  const request = benchRequest(records);
  const protobuf = encodeLogsRequest(request);
  const json = utf8(JSON.stringify(request, jsonForm));
  const nowNs = 1_763_000_000_000_000_000n;
  const spans = otlpTracesBody({ records, startNs: nowNs });
  const rate = (decode: () => void) => rowsPerSec(decode, { records, seconds });
  return {
    columnarRowsPerSec: rate(() => decodeLogsProtobuf(protobuf, { nowNs })),
    protobufjsRowsPerSec: rate(() => ExportLogsServiceRequest.decode(protobuf)),
    jsonRowsPerSec: rate(() => decodeLogsJson(json, { nowNs })),
    jsonParseRowsPerSec: rate(() => JSON.parse(textOf(json))),
    bytesPerRecord: protobuf.length / records,
    spansRowsPerSec: rate(() => decodeSpansProtobuf(spans, { nowNs })),
    spansProtobufjsRowsPerSec: rate(() => ExportTraceServiceRequest.decode(spans)),
    bytesPerSpan: spans.length / records,
  };
}

function rowsPerSec(
  decode: () => void,
  { records, seconds }: { records: number; seconds: number },
): number {
  for (let i = 0; i < 20; i += 1) decode();
  const start = performance.now();
  let requests = 0;
  let elapsedMs = 0;
  while (elapsedMs < seconds * 1000) {
    decode();
    requests += 1;
    elapsedMs = performance.now() - start;
  }
  return requests * records / (elapsedMs / 1000);
}

function benchRequest(records: number): LogsRequest {
  const text = (key: string, value: string) => ({ key, value: { stringValue: value } });
  const logRecords = Array.from({ length: records }, (_, i): LogRecord => ({
    timeUnixNano: String(1_763_000_000_000_000_000n + BigInt(i) * 1_000_123n),
    observedTimeUnixNano: String(1_763_000_000_500_000_000n + BigInt(i)),
    severityNumber: 9,
    severityText: "INFO",
    body: {
      stringValue: `GET /api/v1/orders/${100_000 + i} finished in ${i % 97} ms, user ${i % 31}`,
    },
    attributes: [
      text("http.request.method", "GET"),
      text("url.path", `/api/v1/orders/${100_000 + i}`),
      { key: "http.response.status_code", value: { intValue: 200 } },
      { key: "duration_ms", value: { doubleValue: (i % 97) + 0.25 } },
      text("client.address", `10.0.${i % 256}.${(i * 7) % 256}`),
      text("user.id", `user-${i % 1000}`),
    ],
    traceId: Uint8Array.from({ length: 16 }, (_, j) => (i * 31 + j * 7) & 255),
    spanId: Uint8Array.from({ length: 8 }, (_, j) => (i * 17 + j * 3) & 255),
  }));
  return {
    resourceLogs: [{
      resource: {
        attributes: [
          text("host.name", "node-7.example"),
          text("service.name", "checkout"),
          text("deployment.environment.name", "production"),
        ],
      },
      scopeLogs: [{ scope: { name: "app.http", version: "1.4.2" }, logRecords }],
    }],
  };
}

function jsonForm(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? hexOf(value) : value;
}
