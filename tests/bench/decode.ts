/**
 * How fast requests become columns: our protobuf and JSON decoders beside protobufjs and
 * `JSON.parse` alone, on the same bytes. Bodies are log records of some 300 bytes with 6
 * attributes, with and without trace context, spans, and records with 60 attributes in nested maps.
 */

import {
  encodeLogsRequest,
  ExportLogsServiceRequest,
  type LogRecord,
  type LogsRequest,
} from "../../proto/otlp_logs.ts";
import { decodeLogsJson } from "../../ingest/otlp/logs/logs_json.ts";
import { decodeLogsProtobuf } from "../../ingest/otlp/logs/logs_protobuf.ts";
import { decodeSpansProtobuf } from "../../ingest/otlp/spans/spans_protobuf.ts";
import { ExportTraceServiceRequest } from "../../proto/otlp_traces.ts";
import { hexOf, textOf, utf8 } from "../../shared/base/bytes.ts";
import type { ColumnBatch } from "../../shared/columns/batch.ts";
import { median } from "./benchmark.ts";
import { buildBody } from "./peers/body_template.ts";
import { wideShape } from "./peers/wide_shape.ts";
import { otlpLogsBody, otlpTracesBody } from "./otlp_bodies.ts";

export interface DecodeRates {
  readonly what: string;
  readonly oursRowsPerSec: number;
  readonly reference: string;
  readonly referenceRowsPerSec: number;
  /** The median of the rounds' ratios. */
  readonly ratio: number;
}

const NOW_NS = 1_763_000_000_000_000_000n;
/** Ours and the reference run in turn, so that a slow moment of the machine hits both. */
const ROUNDS = 10;

/** Decodes requests of `records` records for `seconds` each way. */
export function* benchDecode(
  options: { records: number; seconds: number },
): Generator<DecodeRates> {
  const { records } = options;
  const plain = otlpLogsBody({ records, startNs: NOW_NS });
  const traced = benchRequest(records);
  const tracedBytes = encodeLogsRequest(traced);
  const json = utf8(JSON.stringify(traced, jsonForm));
  const spans = otlpTracesBody({ records, startNs: NOW_NS });
  const wide = buildBody(wideShape([{ system: "apache", text: "GET /orders finished" }]), {
    form: "otlp",
    first: 0,
    rows: records,
  }).bytes;
  const sized = (what: string, bytes: Uint8Array) =>
    `${what}, ${Math.round(bytes.length / records)} bytes each`;
  const cases = [
    {
      what: sized("protobuf log records", plain),
      ours: () => release(decodeLogsProtobuf(plain, { nowNs: NOW_NS })),
      reference: "protobufjs",
      theirs: () => ExportLogsServiceRequest.decode(plain),
    },
    {
      what: sized("protobuf log records with trace context", tracedBytes),
      ours: () => release(decodeLogsProtobuf(tracedBytes, { nowNs: NOW_NS })),
      reference: "protobufjs",
      theirs: () => ExportLogsServiceRequest.decode(tracedBytes),
    },
    {
      what: sized("the same as JSON", json),
      ours: () => release(decodeLogsJson(json, { nowNs: NOW_NS })),
      reference: "JSON.parse",
      theirs: () => JSON.parse(textOf(json)),
    },
    {
      what: sized("protobuf spans", spans),
      ours: () => release(decodeSpansProtobuf(spans, { nowNs: NOW_NS })),
      reference: "protobufjs",
      theirs: () => ExportTraceServiceRequest.decode(spans),
    },
    {
      what: sized("protobuf log records with 60 nested attributes", wide),
      ours: () => release(decodeLogsProtobuf(wide, { nowNs: NOW_NS })),
      reference: "protobufjs",
      theirs: () => ExportLogsServiceRequest.decode(wide),
    },
  ];
  for (const { what, ours, reference, theirs } of cases) {
    yield { what, reference, ...compareRates(ours, theirs, options) };
  }
}

/** Gives the batch back as the ingest server does once the rows are appended. */
function release(batch: ColumnBatch): void {
  batch.release?.();
}

function compareRates(
  ours: () => void,
  theirs: () => void,
  { records, seconds }: { records: number; seconds: number },
): Pick<DecodeRates, "oursRowsPerSec" | "referenceRowsPerSec" | "ratio"> {
  for (let i = 0; i < 100; i += 1) {
    ours();
    theirs();
  }
  const rounds = Array.from({ length: ROUNDS }, () => ({
    ours: requestsPerSec(ours, seconds / ROUNDS),
    theirs: requestsPerSec(theirs, seconds / ROUNDS),
  }));
  return {
    oursRowsPerSec: records * median(rounds.map((round) => round.ours)),
    referenceRowsPerSec: records * median(rounds.map((round) => round.theirs)),
    ratio: median(rounds.map((round) => round.ours / round.theirs)),
  };
}

function requestsPerSec(decode: () => void, seconds: number): number {
  const start = performance.now();
  let requests = 0;
  let elapsedMs = 0;
  while (elapsedMs < seconds * 1000) {
    decode();
    requests += 1;
    elapsedMs = performance.now() - start;
  }
  return requests / (elapsedMs / 1000);
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
