/** What a call to a whole server is answered, byte by byte, and what it stores. */

import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { encodeLogsRequest } from "../../proto/otlp_logs.ts";
import { encodeTracesRequest } from "../../proto/otlp_traces.ts";
import { isOperatingError } from "../../shared/base/errors.ts";
import { snappyBlock, snappyFramed } from "../../shared/testing/snappy.ts";
import {
  type CallOptions,
  framed,
  grpcCall,
  GrpcConnection,
  TRACES_EXPORT,
} from "../../tests/clients/grpc_call.ts";
import { metricReaches } from "../../tests/clients/metric_wait.ts";
import { RunningIngest } from "../../tests/clients/running_ingest.ts";

const MIB = 1024 * 1024;
const GZIP = { "grpc-encoding": "gzip" };
const SNAPPY = { "grpc-encoding": "snappy" };
const ROWS = ["first", "zweite", "三番目"];
const BODY = encodeLogsRequest({
  resourceLogs: [{
    scopeLogs: [{ logRecords: ROWS.map((text) => ({ body: { stringValue: text } })) }],
  }],
});
const SPANS = encodeTracesRequest({
  resourceSpans: [{
    scopeSpans: [{
      spans: [{
        traceId: new Uint8Array(16).fill(1),
        spanId: new Uint8Array(8).fill(2),
        name: "GET /",
        startTimeUnixNano: "1763000000000000000",
        endTimeUnixNano: "1763000000000000001",
      }],
    }],
  }],
});

const ACCEPTED: {
  name: string;
  call: CallOptions;
  args?: string[];
  column?: string;
  rows?: readonly string[];
  lane?: string;
}[] = [
  { name: "logs", call: { wire: framed(BODY) } },
  { name: "gzip logs", call: { wire: framed(gzipSync(BODY), true), metadata: GZIP } },
  {
    name: "snappy logs, framed",
    call: { wire: framed(snappyFramed(BODY), true), metadata: SNAPPY },
  },
  {
    name: "snappy logs, a block",
    call: { wire: framed(snappyBlock(BODY), true), metadata: SNAPPY },
  },
  { name: "gzip declared and not used", call: { wire: framed(BODY), metadata: GZIP } },
  {
    name: "logs with x-svc-commit auto",
    call: { wire: framed(BODY), metadata: { "x-svc-commit": "auto" } },
  },
  {
    name: "logs for an index of their own",
    call: { wire: framed(BODY), metadata: { "x-svc-index": "web" } },
    lane: "default/web",
  },
  {
    name: "logs of a trusted tenant",
    call: { wire: framed(BODY), metadata: { "x-scope-orgid": "acme" } },
    args: ["--trust-scope-header"],
    lane: "acme/events",
  },
  {
    name: "logs of a sender with a deadline that holds",
    call: { wire: framed(BODY), metadata: { "grpc-timeout": "20S" } },
  },
  { name: "an empty request", call: { wire: framed(new Uint8Array(0)) }, rows: [] },
  {
    name: "spans",
    call: { wire: framed(SPANS), path: TRACES_EXPORT },
    column: "name",
    rows: ["GET /"],
    lane: "default/traces",
  },
  {
    name: "gzip spans with an index for logs",
    call: {
      wire: framed(gzipSync(SPANS), true),
      path: TRACES_EXPORT,
      metadata: { ...GZIP, "x-svc-index": "web" },
    },
    column: "name",
    rows: ["GET /"],
    lane: "default/traces",
  },
];

for (const { name, call, args, column = "raw", rows = ROWS, lane } of ACCEPTED) {
  Deno.test({
    name: `Export stores ${name} and answers OK with an empty message`,
    fn: async () => {
      await using ingest = await RunningIngest.start(args);
      const answer = await grpcCall(ingest.grpcTarget, call);
      assert.equal(answer.code, 0, answer.message);
      assert.deepEqual([...answer.response ?? [-1]], []);
      const stored = await ingest.rows();
      assert.deepEqual(stored.map((row) => row.columns[column]), rows);
      for (const row of stored) assert.equal(row.lane, lane ?? "default/events");
      const endpoint = call.path === TRACES_EXPORT ? "grpc_traces" : "grpc_logs";
      const label = `endpoint="${endpoint}"`;
      assert.equal(await ingest.metric(`svc_ingest_events_total{${label}}`), rows.length);
      assert.equal(await ingest.metric(`svc_ingest_grpc_calls_total{${label},code="OK"}`), 1);
      assert.equal(await ingest.metric("svc_ingest_bodies_in_flight_bytes"), 0);
    },
  });
}

/**
 * Codes: google/rpc/code.proto. What a sender does with each:
 * docs/clients.md#what-otlp-asks-of-a-server.
 */
const REFUSED: {
  name: string;
  call: CallOptions;
  code: number;
  message: RegExp;
  violation?: string;
  /**
   * The code as the metrics count it; `null` where the library answers what never becomes a call.
   */
  counted: string | null;
}[] = [
  {
    name: "an unknown commit mode",
    call: { wire: framed(BODY), metadata: { "x-svc-commit": "soon" } },
    code: 3,
    message: /"soon".*auto, wait_for, force/,
    violation: "UNKNOWN_COMMIT_MODE",
    counted: "INVALID_ARGUMENT",
  },
  {
    name: "an index name that climbs",
    call: { wire: framed(BODY), metadata: { "x-svc-index": "../etc" } },
    code: 3,
    message: /"\.\.\/etc"/,
    violation: "BAD_INDEX_NAME",
    counted: "INVALID_ARGUMENT",
  },
  {
    name: "bytes that are no request",
    call: { wire: framed(Uint8Array.of(255, 255, 255)) },
    code: 3,
    message: /decode/,
    counted: "INVALID_ARGUMENT",
  },
  {
    name: "a call without a message",
    call: { wire: new Uint8Array(0) },
    code: 3,
    message: /no message/,
    violation: "NOT_ONE_MESSAGE",
    counted: "INVALID_ARGUMENT",
  },
  {
    name: "a message cut short",
    call: { wire: framed(BODY).subarray(0, -3) },
    code: 3,
    message: /cut off/,
    violation: "NOT_ONE_MESSAGE",
    counted: "INVALID_ARGUMENT",
  },
  {
    name: "two messages",
    call: { wire: new Uint8Array([...framed(BODY), ...framed(BODY)]) },
    code: 3,
    message: /more than one message/,
    violation: "NOT_ONE_MESSAGE",
    counted: "INVALID_ARGUMENT",
  },
  {
    name: "another tenant",
    call: { wire: framed(BODY), metadata: { "x-scope-orgid": "acme" } },
    code: 7,
    message: /"acme"/,
    counted: "PERMISSION_DENIED",
  },
  {
    name: "another tenant with 15 MiB before reading them",
    call: { wire: framed(new Uint8Array(15 * MIB)), metadata: { "x-scope-orgid": "acme" } },
    code: 7,
    message: /"acme"/,
    counted: "PERMISSION_DENIED",
  },
  {
    name: "a message of 17 MiB",
    call: { wire: framed(new Uint8Array(17 * MIB)) },
    code: 8,
    message: /17825792 bytes is over.*--ingest-max-body-bytes$/,
    counted: "RESOURCE_EXHAUSTED",
  },
  {
    name: "a decompression bomb of 512 MiB",
    call: { wire: framed(gzipSync(new Uint8Array(512 * MIB)), true), metadata: GZIP },
    code: 8,
    message: /decompressed.*16777216.*--ingest-max-body-bytes$/,
    counted: "RESOURCE_EXHAUSTED",
  },
  {
    name: "broken gzip",
    call: { wire: framed(gzipSync(BODY).subarray(0, 30), true), metadata: GZIP },
    code: 3,
    message: /decompress/,
    counted: "INVALID_ARGUMENT",
  },
  {
    name: "an encoding that is unknown",
    call: { wire: framed(BODY, true), metadata: { "grpc-encoding": "br" } },
    code: 12,
    message: /"br".*identity, gzip, deflate, zstd, snappy/,
    counted: "UNIMPLEMENTED",
  },
  {
    name: "a message that is flagged as compressed without an encoding",
    call: { wire: framed(gzipSync(BODY), true) },
    code: 13,
    message: /Compressed-Flag.*grpc-encoding/,
    counted: "INTERNAL",
  },
  {
    name: "an unknown method",
    call: { wire: framed(BODY), path: "/opentelemetry.proto.collector.logs.v1.LogsService/Import" },
    code: 12,
    message: /no method/,
    counted: null,
  },
];

for (const { name, call, code, message, violation, counted } of REFUSED) {
  Deno.test({
    name: `Export refuses ${name} with code ${code} for good and stores nothing`,
    fn: async () => {
      await using ingest = await RunningIngest.start();
      const answer = await grpcCall(ingest.grpcTarget, call);
      assert.equal(answer.code, code, answer.message);
      assert.match(answer.message, message);
      assert.equal(answer.acceptEncoding, "identity,gzip,deflate,zstd,snappy");
      assert.equal(answer.response, undefined);
      assert.equal(answer.retryAfterSecs, undefined);
      if (violation !== undefined) assert.deepEqual(answer.violations, [violation]);
      assert.deepEqual(await ingest.rows(), []);
      const series = (code: string) =>
        `svc_ingest_grpc_calls_total{endpoint="grpc_logs",code="${code}"}`;
      if (counted !== null) await metricReaches(ingest, series(counted), 1);
      assert.equal(await ingest.metric('svc_ingest_events_total{endpoint="grpc_logs"}'), 0);
      assert.equal(await ingest.metric("svc_ingest_bodies_in_flight_bytes"), 0);
    },
  });
}

Deno.test({
  name: "Export stores every acknowledged row of many calls on few connections once",
  fn: async () => {
    await using ingest = await RunningIngest.start(["--wal-max-events", "50"]);
    const expected: string[] = [];
    await Promise.all(Array.from({ length: 4 }, async (_, connection) => {
      await using sender = new GrpcConnection(ingest.grpcTarget);
      await Promise.all(Array.from({ length: 40 }, async (_, turn) => {
        const text = `${connection}-${turn}`;
        const wire = framed(encodeLogsRequest({
          resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: text } }] }] }],
        }));
        assert.equal((await sender.call({ wire })).code, 0);
        expected.push(text);
      }));
    }));
    const stored = (await ingest.rows()).map((row) => row.columns.raw ?? "");
    assert.deepEqual(stored.sort(), expected.sort());
  },
});

Deno.test({
  name: "startIngest says which option to change when the gRPC port is taken, and frees the rest",
  fn: async () => {
    await using first = await RunningIngest.start();
    await assert.rejects(
      RunningIngest.start(["--otlp-grpc-listen", first.grpcTarget]),
      (error: unknown) =>
        isOperatingError(error, "unavailable") &&
        /port is in use.*--otlp-grpc-listen.*--disable-otlp-grpc/.test(error.message),
    );
  },
});

Deno.test({
  name: "startIngest with --disable-otlp-grpc listens for no gRPC",
  fn: async () => {
    await using ingest = await RunningIngest.start(["--disable-otlp-grpc"]);
    assert.equal(ingest.server.otlpGrpcAddress, undefined);
  },
});
